"""Whom parameter servers refuse, and how long they and their workers wait for one another."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import epl
import mpi
from epl import runtime
from epl.servers.credentials import stream_options
from epl.servers.deadline import deadline
from over_processes.launching import environment_of
from server_runs import PROGRAM, free_port, said


def test_processes_of_a_job_share_a_secret(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("a secret\n")
    environment = environment_of(PYTHONPATH=os.pathsep.join(sys.path), EPL_SERVERS_TOKEN_FILE=str(token))
    command = [sys.executable, str(mpi.LAUNCHER), "--servers", "1", "--workers", "1"]
    command += [PROGRAM, "regress", "sync", "3"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, said(done)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the certificate of 127.0.0.1, signed by itself, and its key."""
    folder = tmp_path_factory.mktemp("certificate")
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=server -keyout key.pem -out own.pem"
    )
    alternative = ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command.split(), *alternative], cwd=folder, check=True, capture_output=True)
    return folder


TLS = {"EPL_SERVERS_TLS_CERTIFICATE": "own.pem", "EPL_SERVERS_TLS_KEY": "key.pem"}


@pytest.mark.parametrize(
    ("of_server", "of_worker", "expected"),
    [
        ("a secret", "another", "expected the token of the server, found another one"),
        ("a secret", None, "expected the token of the server, found none"),
        (TLS, {}, 'expects TLS, for which there is the option "ca", found plaintext'),
        ({}, {"EPL_SERVERS_TLS_CA": "own.pem"}, "expected a certificate for .*, found no TLS"),
        (TLS, {"EPL_SERVERS_TLS_CA": "nowhere.pem"}, "the file of the option .ca.: No such file"),
    ],
)
def test_a_worker_says_at_once_that_a_server_refuses_it(
    of_server: Any, of_worker: Any, expected: str, certificate: Path, tmp_path: Path
) -> None:
    def environment(role: str, given: Any, name: str) -> dict[str, str]:
        if isinstance(given, str):
            (tmp_path / name).write_text(given + "\n")
            given = {"EPL_SERVERS_TOKEN_FILE": str(tmp_path / name)}
        files = {key: str(certificate / file) for key, file in (given or {}).items()}
        port = {"PADDLE_PSERVERS_IP_PORT_LIST": f"127.0.0.1:{number}", "PADDLE_PORT": str(number)}
        one = {"TRAINING_ROLE": role, "PADDLE_TRAINERS_NUM": "1", "PADDLE_TRAINER_ID": "0"}
        return environment_of(
            PYTHONPATH=os.pathsep.join(sys.path), POD_IP="127.0.0.1", **port, **one, **files
        )

    number = free_port()
    command = [sys.executable, PROGRAM, "regress", "sync", "3"]
    with subprocess.Popen(command, env=environment("PSERVER", of_server, "server")) as server:
        try:
            done = subprocess.run(
                command,
                env=environment("TRAINER", of_worker, "worker"),
                capture_output=True,
                text=True,
                check=False,
                timeout=mpi.SECONDS,  # less than who has not come yet is given
            )
        finally:
            server.terminate()
    assert done.returncode == 1, said(done)
    text = f"ProcessError: server 0 .127.0.0.1:{number}. has no stream for this worker: .*{expected}"
    assert re.search(text, done.stderr), said(done)


def test_what_says_the_secret_is_checked(tmp_path: Path) -> None:
    with pytest.raises(epl.ConfigError, match=r"EPL_SERVERS_TOKEN_FILE in the environment: .*no/file"):
        stream_options({"EPL_SERVERS_TOKEN_FILE": "no/file"})
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(epl.ConfigError, match="has no token in its first line"):
        stream_options({"EPL_SERVERS_TOKEN_FILE": str(tmp_path / "empty")})
    with pytest.raises(epl.ConfigError, match=r'EPL_SERVERS_INSECURE .* must be 0 or 1, found "yes"'):
        stream_options({"EPL_SERVERS_INSECURE": "yes"})


def test_a_server_says_why_it_has_no_secret(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")  # nobody may read it, root neither
    for name, expected in [
        ("none", 'cannot read "{}", the file of --token-file: No such file or directory'),
        ("", 'cannot read "{}", the file of --token-file: Is a directory'),
        ("loop", 'cannot read "{}", the file of --token-file: Too many levels of symbolic links'),
        ("empty", '"{}" has no token in its first line'),
    ]:
        file = str(tmp_path / name)
        command = [str(runtime.program("epl-server")), "--listen", "127.0.0.1:0", "--token-file", file]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=mpi.SECONDS)
        assert done.returncode == 1, said(done)
        assert done.stderr == f"error: {expected.format(file)}\n"


def test_a_worker_that_does_not_come_is_named() -> None:
    address = f"127.0.0.1:{free_port()}"
    environment = environment_of(
        PYTHONPATH=os.pathsep.join(sys.path),
        PADDLE_PSERVERS_IP_PORT_LIST=address,
        TRAINING_ROLE="TRAINER",
        PADDLE_TRAINERS_NUM="2",
        PADDLE_TRAINER_ID="0",
        FLAGS_rpc_deadline="1500",  # a server says each second whom it waits for
    )
    server = [str(runtime.program("epl-server")), "--listen", address, "--deadline", "60000"]
    command = [sys.executable, PROGRAM, "regress", "sync", "3"]
    with subprocess.Popen(server, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as child:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=mpi.SECONDS
        )
        _, said_there = child.communicate(timeout=mpi.SECONDS)
    assert done.returncode == 1, said(done)
    assert re.search("ProcessError: server 0 .* has not answered within 1.5 s.* awaits worker 1", done.stderr)
    assert child.returncode == 1
    assert re.search("server 0: worker 0 has failed: .* awaits worker 1", said_there)


def test_nobody_is_awaited_longer_than_the_deadline() -> None:
    one = {"TRAINING_ROLE": "TRAINER", "PADDLE_TRAINERS_NUM": "1", "PADDLE_TRAINER_ID": "0"}
    address = f"127.0.0.1:{free_port()}"
    environment = environment_of(
        PYTHONPATH=os.pathsep.join(sys.path),
        PADDLE_PSERVERS_IP_PORT_LIST=address,
        FLAGS_rpc_deadline="700",
        **one,
    )
    command = [sys.executable, PROGRAM, "regress", "sync", "3"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert f"ProcessError: server 0 ({address}) has not been there for 0.7 s" in done.stderr, said(done)
    command = [str(runtime.program("epl-server")), "--listen", "127.0.0.1:0"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "server 0: worker 0 has not come for 0.7 s" in done.stderr, said(done)
    assert deadline({}) == 180_000
    with pytest.raises(epl.ConfigError, match=r'FLAGS_rpc_deadline .* milliseconds, found "3 s"'):
        deadline({"FLAGS_rpc_deadline": "3 s"})
