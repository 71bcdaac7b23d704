"""What all views of the API have in common."""

from collections.abc import Collection
from typing import Any, ClassVar, TypeVar

from django.db import connection
from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import conditional_page
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.views import APIView

from api.access import StaffNeeds, require_of_staff
from api.parsing import SoundJsonParser
from api.problems import problem_response
from delivery.protocol.errors import Code, WillowError
from queues.models import Queue

STATEMENT_SECONDS = 10
NOT_OURS = ("token", "format")  # arguments that identify the caller or the format
NUMBERS_IN_ADDRESSES = ("shard", "index", "number")

Row = TypeVar("Row")


class ApiView(APIView):
    """Reads and answers JSON, refuses with problem details, and tells callers when nothing has changed (ETag)."""

    parser_classes = [
        SoundJsonParser
    ]  # only JSON: browsers send a preflight request before they post JSON to another site
    staff_needs: ClassVar[StaffNeeds] = {}  # by method; other methods need May.LOOK
    addressed_by: ClassVar[tuple[str, ...]] = ()  # arguments that say which resource is meant

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        return conditional_page(super().as_view(**initkwargs))

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Converts the numbers in the address."""
        read = {name: int(value) if name in NUMBERS_IN_ADDRESSES else value for name, value in kwargs.items()}
        return super().dispatch(request, *args, **read)

    def get_exception_handler(self) -> Any:
        return problem_response

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        require_of_staff(request, self.staff_needs)
        with connection.cursor() as cursor:
            cursor.execute(f"SET statement_timeout = {STATEMENT_SECONDS * 1000}")

    def asked(self, serializer: type[serializers.Serializer]) -> dict[str, Any]:
        """The arguments of the query string, checked. Not read as a form, which would ignore empty fields."""
        return self._arguments(serializer, without=(*NOT_OURS, *self.addressed_by))

    def named(self, serializer: type[serializers.Serializer]) -> dict[str, Any]:
        """Those that say which resource is meant, checked."""
        others = [name for name in self.request.query_params if name not in self.addressed_by]
        return self._arguments(serializer, without=others)

    def _arguments(self, serializer: type[serializers.Serializer], *, without: Collection[str]) -> dict[str, Any]:
        given, fields = self.request.query_params, serializer().fields
        lists = {name for name, field in fields.items() if isinstance(field, serializers.ListField)}
        data = {name: given.getlist(name) if name in lists else given[name] for name in given if name not in without}
        return _checked(serializer(data=data))

    def sent(self, serializer: type[serializers.Serializer]) -> dict[str, Any]:
        """The JSON object of the request, checked."""
        return _checked(serializer(data=self.request.data))


def _checked(serializer: serializers.Serializer) -> dict[str, Any]:
    serializer.is_valid(raise_exception=True)
    values: dict[str, Any] = serializer.validated_data
    return values


def found(row: Row | None, key: str, sentence: str) -> Row:
    if row is None:
        raise WillowError(Code.NO_OBJECT, key, sentence)
    return row


def queue_numbered(shard: int) -> Queue:
    return found(Queue.objects.filter(pk=shard).first(), str(shard), f"There is no queue with the number {shard}.")
