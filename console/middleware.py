"""What holds for every page of the console and of Django's admin: bounded queries, and readable error pages."""

import logging
from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import DataError, Error, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from psycopg import errors

from console.problems import Problem, problem_page
from console.query_time import QUERY_SECONDS, query_time

logger = logging.getLogger(__name__)

ADDRESSES = ("/console/", "/admin/")


class ConsolePages:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path.startswith(ADDRESSES):
            return self._get_response(request)
        if _holds_nul(request):
            return problem_page(request, Problem(400, "Bad request", "Texts cannot hold the character NUL."))
        try:
            with query_time():
                return self._get_response(request)
        except Error as error:  # the storage is gone before or after the view
            return problem_page(request, _of_storage(error))

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Views' exceptions come here first. None leaves them to Django."""
        if not request.path.startswith(ADDRESSES):
            return None
        if isinstance(exception, Http404):
            return problem_page(request, Problem(404, "Not found", str(exception) or "There is nothing here."))
        if isinstance(exception, PermissionDenied):
            why = str(exception) or "Your account does not have the permission that this page needs."
            return problem_page(request, Problem(403, "Not allowed", why))
        if isinstance(exception, SuspiciousOperation | DataError):
            why = "This page does not know what its address asks for."
            return problem_page(request, Problem(400, "Bad request", why))
        if isinstance(exception, OperationalError | InterfaceError):
            return problem_page(request, _of_storage(exception))
        if settings.DEBUG:
            return None
        logger.exception("%s %s failed", request.method, request.path, exc_info=exception)
        return problem_page(request, Problem(500, "This went wrong", "The log of this node says what happened."))


def _holds_nul(request: HttpRequest) -> bool:
    """PostgreSQL's texts cannot hold it, so no query can use it."""
    every = (values for given in (request.GET, request.POST) for _, values in given.lists())
    return any("\0" in value for values in every for value in values)


def _of_storage(error: Exception) -> Problem:
    logger.warning("The console could not query the storage: %s", error)
    if isinstance(error.__cause__, errors.QueryCanceled):
        why = f"A database query took longer than {QUERY_SECONDS:g} seconds and was cancelled."
        return Problem(503, "This took too long", why + " Narrow it down, or try again when the broker is less busy.")
    return Problem(503, "The storage cannot be reached", "The broker goes on as soon as PostgreSQL answers again.")
