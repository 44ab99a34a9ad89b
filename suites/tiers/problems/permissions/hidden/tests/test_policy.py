import pytest
from policy import Policy

ROLES = {
    "reader": {"allow": ["read:/projects/**"]},
    "writer": {"inherits": ["reader"], "allow": ["write:/projects/*/files/**"], "deny": ["write:/projects/*/files/locked"]},
    "guest": {"deny": ["*:/projects/secret/**"]},
    "admin": {"allow": ["*:**"]},
}


def policy(*bindings, roles=ROLES):
    return Policy(roles, [{"who": who, "role": role, **more} for who, role, more in bindings])


def decide(action, path, *bindings, groups=(), now=0, roles=ROLES):
    return policy(*bindings, roles=roles).decide("ann", list(groups), action, path, now)


WRITER = ("user:ann", "writer", {})


def test_a_rule_allows():
    assert decide("write", "/projects/7/files/a", WRITER) == (True, "writer: write:/projects/*/files/**")


def test_inherited_rules_allow():
    assert decide("read", "/projects/7", WRITER) == (True, "reader: read:/projects/**")


def test_without_a_rule_nothing_is_allowed():
    assert decide("delete", "/projects/7", WRITER) == (False, "no rule")
    assert decide("read", "/projects/7") == (False, "no rule")


def test_a_denial_comes_first():
    assert decide("write", "/projects/7/files/locked", ("user:ann", "admin", {}), WRITER) == (
        False,
        "writer: write:/projects/*/files/locked",
    )


def test_groups():
    bindings = [("group:staff", "reader", {}), ("user:staff", "admin", {})]
    assert decide("read", "/projects/7", *bindings, groups=["staff"])[0] is True
    assert decide("write", "/projects/7/files/a", *bindings, groups=["staff"])[0] is False
    assert decide("read", "/projects/7", *bindings)[0] is False


def test_a_binding_for_some_paths():
    binding = ("user:ann", "admin", {"on": "/projects/7/**"})
    assert decide("delete", "/projects/7", binding)[0] is True
    assert decide("delete", "/projects/8", binding)[0] is False


def test_a_denial_of_another_path_does_not_count():
    bindings = [WRITER, ("user:ann", "guest", {"on": "/other/**"})]
    assert decide("read", "/projects/secret/x", *bindings)[0] is True
    assert decide("read", "/projects/secret/x", WRITER, ("user:ann", "guest", {})) == (False, "guest: *:/projects/secret/**")


def test_the_actions_that_are_allowed():
    found = policy(WRITER).allowed_actions("ann", [], ["write", "delete", "read"], "/projects/7/files/a", 0)
    assert found == ["write", "read"]


@pytest.mark.edge_case
@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("/a", "/a", True),
        ("/a", "/a/b", False),
        ("/a/*", "/a/b", True),
        ("/a/*", "/a", False),
        ("/a/*", "/a/b/c", False),
        ("/a/**", "/a", True),
        ("/a/**", "/a/b/c", True),
        ("/a/**", "/ab", False),
        ("/a/*/**", "/a", False),
        ("/*/c", "/b/c", True),
        ("/a.c", "/abc", False),
        ("/a*", "/ab", False),
        ("**", "/", True),
        ("/**", "/", True),
        ("/*", "/", False),
    ],
)
def test_patterns(pattern, path, expected):
    roles = {"r": {"allow": [f"read:{pattern}"]}}
    assert decide("read", path, ("user:ann", "r", {}), roles=roles)[0] is expected


@pytest.mark.edge_case
@pytest.mark.parametrize("path", ["", "a", "/a/", "//", "/a//b", "/a/../b", "/.", "/*", "/a/**"])
def test_what_is_no_path(path):
    with pytest.raises(ValueError):
        decide("read", path, WRITER)


@pytest.mark.edge_case
def test_the_first_rule_is_the_reason():
    roles = {
        "a": {"allow": ["read:/x"]},
        "b": {"inherits": ["d", "c"], "allow": ["read:/y"]},
        "c": {"allow": ["*:**", "read:/x"]},
        "d": {"allow": ["write:**"]},
    }
    bindings = [("user:ann", "b", {}), ("user:ann", "a", {})]
    assert decide("read", "/x", *bindings, roles=roles) == (True, "c: *:**")
    assert decide("read", "/y", *bindings, roles=roles) == (True, "b: read:/y")
    assert decide("write", "/x", *bindings, roles=roles) == (True, "d: write:**")


@pytest.mark.edge_case
def test_a_role_is_inherited_twice():
    roles = {"a": {"inherits": ["b", "c"]}, "b": {"inherits": ["d"]}, "c": {"inherits": ["d"]}, "d": {"allow": ["*:**"]}}
    assert decide("read", "/x", ("user:ann", "a", {}), roles=roles) == (True, "d: *:**")


@pytest.mark.edge_case
@pytest.mark.parametrize(
    "role",
    [
        {"inherits": ["none"]},
        {"inherits": ["bad"]},
        {"allow": ["read"]},
        {"allow": [":/a"]},
        {"deny": ["read:a"]},
        {"allow": ["read:/a//b"]},
        {"allow": ["read:/**/b"]},
        {"deny": ["read:/a/"]},
    ],
)
def test_roles_are_checked(role):
    with pytest.raises(ValueError, match="bad"):
        Policy({"bad": role}, [])


@pytest.mark.edge_case
@pytest.mark.parametrize(("who", "role"), [("bad", "reader"), ("robot:bad", "reader"), ("user:bad", "none")])
def test_bindings_are_checked(who, role):
    with pytest.raises(ValueError, match="bad"):
        policy((who, role, {}))


@pytest.mark.temporal
@pytest.mark.parametrize(("now", "expected"), [(99, True), (100, False), (101, False)])
def test_a_binding_ends(now, expected):
    assert decide("read", "/projects/7", ("user:ann", "reader", {"until": 100}), now=now)[0] is expected


@pytest.mark.temporal
def test_a_denial_ends_too():
    bindings = [WRITER, ("user:ann", "guest", {"until": 100})]
    assert decide("read", "/projects/secret/x", *bindings, now=99)[0] is False
    assert decide("read", "/projects/secret/x", *bindings, now=100)[0] is True
