"""A staff member who is logged in to the admin, for tests."""

from django.contrib.auth import get_user_model
from django.test import Client as Browser


def logged_in_browser() -> Browser:
    browser = Browser()
    browser.force_login(get_user_model().objects.create_superuser("operator"))
    return browser
