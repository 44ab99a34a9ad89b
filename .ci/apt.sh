# install_packages NAME...: install Debian packages where that is possible without asking anybody, or return 1.
install_packages() {
    command -v apt-get >/dev/null 2>&1 || return 1
    sudo=
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null || return 1
        sudo='sudo -n'
    fi
    echo "installing $* (Debian packages)"
    $sudo apt-get update -qq -o Acquire::Retries=3 >/dev/null && \
        $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o Acquire::Retries=3 \
            --no-install-recommends "$@" >/dev/null
}
