"""Results pass from one person to another: push to a remote, clone, pull, and nothing is computed again."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.repository import STAGES, Repository

# Debian keeps sshd where only root's PATH leads.
PLACES_OF_SSHD = os.pathsep.join([os.environ["PATH"], "/usr/local/sbin", "/usr/sbin"])

CACHED = 4 + 2 * sum(stage.startswith("train_") for stage in STAGES)  # text, three files of tokens, two seeds a model


@dataclass(frozen=True)
class Server:
    """An SSH server on this machine that lets one key in, and hands out files but no shell."""

    port: int
    user: str
    folder: Path
    keyfile: Path


@pytest.fixture
def server() -> Iterator[Server]:
    """OpenSSH's sshd on a free port, without privileges, with keys and settings of its own."""
    pytest.importorskip("dvc_ssh", reason="needs DVC's support for SSH: install what requirements.lock pins")
    sshd = shutil.which("sshd", path=PLACES_OF_SSHD)
    if sshd is None or shutil.which("ssh-keygen") is None:
        pytest.skip("needs an SSH server: apt-get install openssh-server")
    is_root = os.geteuid() == 0  # then sshd would need a user and a folder of its own, outside of the test's
    # Not nobody: systemd tells sshd that this account is locked.
    account = pwd.getpwnam("daemon") if is_root else pwd.getpwuid(os.geteuid())
    with tempfile.TemporaryDirectory() as name:  # not pytest's folder, which no other user may enter
        scratch = Path(name)
        scratch.chmod(0o755)
        folder = scratch / "served"
        folder.mkdir()
        host_key, keyfile = make_key(scratch / "host"), make_key(scratch / "client")
        port = free_port()
        config = scratch / "sshd_config"
        config.write_text(
            f"ListenAddress 127.0.0.1:{port}\n"
            f"HostKey {host_key}\n"
            f"AuthorizedKeysFile {keyfile}.pub\n"
            "AuthenticationMethods publickey\n"
            "ForceCommand internal-sftp\n"
            "Subsystem sftp internal-sftp\n"
            "PidFile none\n"
            "StrictModes no\n"  # all may write to the folder above
            "UsePAM no\n",
            encoding="utf-8",
        )
        drop: dict[str, Any] = {}
        if is_root:
            for path in (folder, host_key):
                os.chown(path, account.pw_uid, account.pw_gid)
            drop = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        log = scratch / "log"
        with log.open("wb") as errors:
            running = subprocess.Popen([sshd, "-D", "-e", "-f", config], stderr=errors, **drop)
        try:
            wait_for(running, port, log)
            yield Server(port, account.pw_name, folder, keyfile)
        finally:
            running.terminate()
            running.wait()


def make_key(path: Path) -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path], check=True)
    return path


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def wait_for(running: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    """Return when the server answers; say what it wrote if it does not."""
    for _ in range(600):
        with socket.socket() as client:
            if running.poll() is None and client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail(f"sshd does not answer:\n{log.read_text(encoding='utf-8', errors='replace')}")


def clone_of(author: Repository, path: Path) -> Repository:
    """A colleague's clone, who has neither the text nor a network to bring it."""
    colleague = author.clone(path)
    del colleague.environment["CHARLM_CORPUS"]
    colleague.environment["https_proxy"] = "http://127.0.0.1:9"
    return colleague


def cached(repository: Repository) -> dict[str, bytes]:
    """Return the bytes of what the pipeline leaves outside of Git."""
    files = [file for folder in ("data", "checkpoints") for file in (repository.path / folder).rglob("*")]
    return {str(file.relative_to(repository.path)): file.read_bytes() for file in files if file.is_file()}


def assert_nothing_is_left_to_do(author: Repository, colleague: Repository) -> None:
    assert cached(colleague) == cached(author)
    assert len(cached(author)) == CACHED
    assert "Data and pipelines are up to date." in colleague.run("dvc", "repro")
    assert colleague.run("git", "status", "--porcelain") == ""
    assert colleague.files() == author.files()


def test_a_colleague_pulls_from_a_folder_and_computes_nothing(repository: Repository, tmp_path: Path) -> None:
    remote = tmp_path / "a folder both can reach"
    repository.run("dvc", "remote", "add", "-d", "shared", str(remote))
    repository.run("dvc", "push")
    repository.run("git", "commit", "--quiet", "--all", "--message", "Say where the results are shared")

    colleague = clone_of(repository, tmp_path / "a colleague's clone")
    assert cached(colleague) == {}
    colleague.run("dvc", "pull")
    assert_nothing_is_left_to_do(repository, colleague)


def test_what_the_colleague_changes_comes_back_the_same_way(repository: Repository, tmp_path: Path) -> None:
    repository.run("dvc", "remote", "add", "-d", "shared", str(tmp_path / "shared"))
    repository.run("dvc", "push")
    repository.run("git", "commit", "--quiet", "--all", "--message", "Say where the results are shared")
    colleague = clone_of(repository, tmp_path / "a colleague's clone")
    colleague.run("dvc", "pull")

    colleague.set(attention__n_embd="16")
    assert colleague.repro() == ["train_attention", "evaluate", "plot"]
    colleague.run("git", "commit", "--quiet", "--all", "--message", "Half the width")
    colleague.run("dvc", "push")

    repository.run("git", "pull", "--quiet", str(colleague.path))
    repository.run("dvc", "pull")
    assert_nothing_is_left_to_do(repository, colleague)


def test_without_the_remote_a_clone_has_work_to_do(repository: Repository, tmp_path: Path) -> None:
    """Else the tests above would show nothing."""
    colleague = clone_of(repository, tmp_path / "a colleague's clone")
    assert colleague.stale() == set(STAGES) - {"plot"}  # whose outputs, and all that it reads, lie in Git


def test_a_colleague_pulls_over_ssh(repository: Repository, tmp_path: Path, server: Server) -> None:
    """Where the results are is committed; who comes, and with which key, is everyone's own."""
    url = f"ssh://127.0.0.1:{server.port}{server.folder}/results"
    repository.run("dvc", "remote", "add", "-d", "shared", url)
    identify(repository, server)
    repository.run("dvc", "push")
    assert len([file for file in server.folder.rglob("*") if file.is_file()]) >= CACHED
    repository.run("git", "commit", "--quiet", "--all", "--message", "Say where the results are shared")

    colleague = clone_of(repository, tmp_path / "a colleague's clone")
    assert server.user not in (colleague.path / ".dvc/config").read_text(encoding="utf-8")
    identify(colleague, server)
    colleague.run("dvc", "pull")
    assert_nothing_is_left_to_do(repository, colleague)


def identify(repository: Repository, server: Server) -> None:
    for name, value in {"user": server.user, "keyfile": str(server.keyfile)}.items():
        repository.run("dvc", "remote", "modify", "--local", "shared", name, value)


def test_the_server_lets_nobody_in_without_the_key(repository: Repository, tmp_path: Path, server: Server) -> None:
    """Else the test above would not have come in by its key."""
    url = f"ssh://127.0.0.1:{server.port}{server.folder}/results"
    repository.run("dvc", "remote", "add", "-d", "shared", url)
    stranger = make_key(tmp_path / "another key")
    identify(repository, Server(server.port, server.user, server.folder, stranger))
    said = repository.run("dvc", "push", status=255)
    assert "Permission denied" in said
    assert list(server.folder.iterdir()) == []
