"""The console's own static files, for the theme to put on every page."""

from django.http import HttpRequest
from django.templatetags.static import static


def stylesheet(request: HttpRequest) -> str:
    return static("console/console.css")


def keyboard_script(request: HttpRequest) -> str:
    return static("console/keyboard.js")


def script(request: HttpRequest) -> str:
    return static("console/live.js")


def message_stylesheet(request: HttpRequest) -> str:
    return static("console/messages.css")


def local_times_script(request: HttpRequest) -> str:
    return static("console/local_times.js")


def choices_script(request: HttpRequest) -> str:
    return static("console/choices.js")


def favicon(request: HttpRequest) -> str:
    return static("console/favicon.svg")
