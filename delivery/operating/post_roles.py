"""Roles of PostgreSQL that may post in their own transactions, by `willow_post`, and to which queues."""

from collections.abc import Iterable

from django.db import connection, transaction
from psycopg import sql

from delivery.moves.models import RoleGrant
from delivery.operating.audit import Operator, audit
from queues.definitions import NAME_RULE, is_name

BODY_TYPES = ("bytea", "text", "jsonb")
OTHER_ARGUMENTS = "text[], bigint, float8, float8, text, text, jsonb, text, text"


class BadPostRoleError(Exception):
    """Who or what was named cannot be; the text says why."""


@transaction.atomic
def post_role_grant(*, role: str, patterns: Iterable[str], by: Operator) -> None:
    """Let a role post to the queues whose names match, beside those that it may post to already."""
    _check_exists(role)
    given = sorted(set(patterns))
    for pattern in given:
        if not is_name(pattern):
            raise BadPostRoleError(f"A pattern must be {NAME_RULE}, with `*` for any characters, not {pattern!r}.")
        RoleGrant.objects.update_or_create(role=role, pattern=pattern, defaults={"like_pattern": _for_like(pattern)})
    _execute("GRANT USAGE ON SCHEMA {schema} TO {role}", role)
    _for_each_function("GRANT EXECUTE ON FUNCTION {function} TO {role}", role)
    audit(by=by, action="let role post", target=role, details={"patterns": given})


@transaction.atomic
def post_role_revoke(*, role: str, by: Operator) -> None:
    """From its next call on, the role may post nothing."""
    RoleGrant.objects.filter(role=role).delete()
    if _exists(role):
        _for_each_function("REVOKE EXECUTE ON FUNCTION {function} FROM {role}", role)
    audit(by=by, action="let role post no more", target=role)


def post_roles() -> dict[str, list[str]]:
    """Patterns of queue names by role."""
    roles: dict[str, list[str]] = {}
    for role, pattern in RoleGrant.objects.order_by("role", "pattern").values_list("role", "pattern"):
        roles.setdefault(role, []).append(pattern)
    return roles


def _for_like(pattern: str) -> str:
    escaped = pattern.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return escaped.replace("*", "%")


def _check_exists(role: str) -> None:
    if not _exists(role):
        raise BadPostRoleError(f"There is no role {role} in this PostgreSQL. Make it first: CREATE ROLE … LOGIN.")


def _exists(role: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_roles WHERE rolname = %s", [role])
        return cursor.fetchone() is not None


def _for_each_function(template: str, role: str) -> None:
    for body_type in BODY_TYPES:
        _execute(template.replace("{function}", f"{{schema}}.willow_post(text, {body_type}, {OTHER_ARGUMENTS})"), role)


def _execute(template: str, role: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_schema()")
        (schema,) = cursor.fetchone()
        names = {"schema": sql.Identifier(schema), "role": sql.Identifier(role)}
        cursor.execute(sql.SQL(template).format(**names))
