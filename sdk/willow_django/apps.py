from django.apps import AppConfig


class WillowConfig(AppConfig):
    name = "willow_django"
    verbose_name = "Willow"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from willow_django import checks  # noqa: F401 -- registers them
