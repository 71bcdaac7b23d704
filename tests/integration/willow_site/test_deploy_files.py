"""The files in deploy/: they name only what there is, and the programs they are for accept them."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from django.core.management import get_commands

from willow_site.configuration import declared_settings
from willow_site.project_folder import PROJECT_FOLDER

DEPLOY = PROJECT_FOLDER / "deploy"
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file())
COMPOSE = DEPLOY / "docker" / "compose.yml"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_they_name_only_settings_that_there_are(file: Path) -> None:
    known = {declared.variable for declared in declared_settings().values()}
    assert set(re.findall(r"\bWILLOW_[A-Z_]+", file.read_text())) <= known


def test_containers_run_commands_that_there_are() -> None:
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    ours = [service["command"][0] for service in services.values() if service["image"] == "willow"]
    assert set(ours) == {"prepare", "serve", "reaper"} <= get_commands().keys()
    dockerfile = (DEPLOY / "docker" / "Dockerfile").read_text()
    assert re.findall(r"^COPY (\S+) \./$", dockerfile, re.M) == ["requirements-broker.lock"]
    assert (PROJECT_FOLDER / "requirements-broker.lock").exists()


def validated(package: str, program: str, *arguments: str, **environ: str) -> None:
    found = shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin")
    assert found, f"This test needs {program}. On Debian and Ubuntu, run: apt-get install {package}"
    answer = subprocess.run(
        [found, *arguments], capture_output=True, text=True, check=False, env={**os.environ, **environ}
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr


@pytest.mark.long
def test_systemd_accepts_its_unit(tmp_path: Path) -> None:
    unit = (DEPLOY / "systemd" / "willow.service").read_text().replace("/opt/willow", str(PROJECT_FOLDER))
    (tmp_path / "willow.service").write_text(unit)
    validated("systemd", "systemd-analyze", "verify", "--man=no", str(tmp_path / "willow.service"))


@pytest.mark.long
def test_nginx_accepts_its_configuration(tmp_path: Path) -> None:
    subject = ("-subj", "/CN=broker.example.org", "-keyout", str(tmp_path / "privkey.pem"))
    certificate = ("-out", str(tmp_path / "fullchain.pem"))
    validated("openssl", "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *subject, *certificate)
    site = (DEPLOY / "nginx" / "willow.conf").read_text().replace("/etc/ssl/willow", str(tmp_path))
    (tmp_path / "nginx.conf").write_text(f"pid {tmp_path}/pid;\nevents {{}}\nhttp {{\n{site}\n}}\n")
    validated("nginx", "nginx", "-t", "-p", str(tmp_path), "-e", f"{tmp_path}/log", "-c", str(tmp_path / "nginx.conf"))


@pytest.mark.long
def test_compose_accepts_its_file() -> None:
    secrets = {"POSTGRES_PASSWORD": "p", "SECRET_KEY": "k" * 40}
    validated("docker-compose", "docker-compose", "-f", str(COMPOSE), "config", "--quiet", **secrets)
