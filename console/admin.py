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


class RightsBySuperusers(AuditedAdmin):
    """Nobody gets more rights by changing accounts: only superusers give any."""

    rights: tuple[str, ...]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        given = super().get_readonly_fields(request, obj)
        return given if request.user.is_superuser else (*given, *self.rights)


@admin.register(User)
class UserAdmin(RightsBySuperusers, DjangoUserAdmin):
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    rights = ("is_staff", "is_superuser", "groups", "user_permissions")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and _may_be(request.user, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and _may_be(request.user, obj)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Where many are deleted at once, Django asks about their kind only."""
        shown, counts, needed, protected = super().get_deleted_objects(objs, request)
        stronger = [str(one) for one in objs if not _may_be(request.user, one)]
        return shown, counts, needed, [*protected, *stronger]

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        with transaction.atomic():
            return super().user_change_password(request, id, form_url)


@admin.register(Group)
class GroupAdmin(RightsBySuperusers, DjangoGroupAdmin):
    rights = ("permissions",)


def _may_be(user: Any, other: User | None) -> bool:
    """Whether what an account may do is no more than what the user may do, who could log in with it."""
    if user.is_superuser or other is None:
        return True
    return not other.is_superuser and other.get_all_permissions() <= user.get_all_permissions()
