"""Staff members who may do some things in the console and not others, for tests."""

from django.contrib.auth.models import Permission, User
from django.test import Client as Browser


def staff_browser(*codenames: str) -> Browser:
    user = User.objects.create_user("staff", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    browser = Browser()
    browser.force_login(user)
    return browser
