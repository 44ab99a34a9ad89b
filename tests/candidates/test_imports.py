import subprocess
import sys


def test_front_door_imports_no_sdk() -> None:
    code = (
        "import sys, codegate.candidates, codegate.solving\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & "
        "{'openai', 'anthropic', 'httpx', 'httpx2', 'docker', 'requests', 'scipy'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
