"""Passwords are hashed as Django does it, in a process that takes little."""

from collections.abc import Iterator

import psutil
import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher

from delivery.gateway.side_socket import NICENESS
from willow_site import passwords
from willow_site.passwords import HashedBeside, Hashing

ITERATIONS = 2
MOST_BYTES = 30_000_000  # an interpreter and OpenSSL; with Django it was twice as much


@pytest.fixture
def hashing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hashing]:
    beside = Hashing()
    monkeypatch.setattr(passwords, "_beside", beside)
    yield beside
    beside.end()


def process_of(hashing: Hashing) -> psutil.Process:
    assert hashing.process_number is not None
    return psutil.Process(hashing.process_number)


@pytest.mark.parametrize("password", ["secret", "pässwörd", ""])
def test_a_hash_is_the_one_that_django_makes(hashing: Hashing, password: str) -> None:
    made = HashedBeside().encode(password, "salt", ITERATIONS)
    assert made == PBKDF2PasswordHasher().encode(password, "salt", ITERATIONS)
    assert HashedBeside().verify(password, made)
    assert process_of(hashing).is_running(), "it was made there"


def test_the_process_steps_back_and_takes_little(hashing: Hashing) -> None:
    HashedBeside().encode("secret", "salt", ITERATIONS)
    process = process_of(hashing)
    assert process.nice() == psutil.Process().nice() + NICENESS
    assert process.memory_info().rss < MOST_BYTES


def test_when_the_process_was_killed_the_password_is_hashed_and_the_next_has_a_new_one(hashing: Hashing) -> None:
    expected = PBKDF2PasswordHasher().encode("secret", "salt", ITERATIONS)
    HashedBeside().encode("secret", "salt", ITERATIONS)
    killed = process_of(hashing)
    killed.kill()
    assert [HashedBeside().encode("secret", "salt", ITERATIONS) for _ in range(2)] == [expected] * 2
    assert process_of(hashing).pid != killed.pid
