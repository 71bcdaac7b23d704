"""Users and groups in the theme's pages."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django_otp.plugins.otp_totp.models import TOTPDevice
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from delivery.operating.audit import audit, staff
from queues.admin_bases import FiltersOnly

admin.site.unregister(User)
admin.site.unregister(Group)
admin.site.unregister(TOTPDevice)  # its page shows secrets, and would let staff make a second factor for others


class AuditedAdmin(FiltersOnly, ModelAdmin):
    """Django changes these rows by itself. What it logs, in the same transaction, goes into the audit as well."""

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        self._audit(request, "add", obj, message)
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        self._audit(request, "change", obj, message)
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        for obj in queryset:
            self._audit(request, "delete", obj, "")
        return super().log_deletions(request, queryset)

    def _audit(self, request: HttpRequest, what: str, obj: Any, message: Any) -> None:
        details = {"changes": message} if message else {}
        audit(by=staff(request.user), action=f"{what} {self.opts.verbose_name}", target=str(obj), details=details)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """Where many are deleted at once."""
        with transaction.atomic():
            return super().changelist_view(request, extra_context)


@admin.register(User)
class UserAdmin(AuditedAdmin, DjangoUserAdmin):
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        with transaction.atomic():
            return super().user_change_password(request, id, form_url)


@admin.register(Group)
class GroupAdmin(AuditedAdmin, DjangoGroupAdmin):
    pass
