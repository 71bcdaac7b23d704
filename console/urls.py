"""The console's addresses. Those about messages and clients are in console/message_urls.py."""

from django.urls import include, path

from console.screens import (
    analysts,
    audit,
    database,
    nodes,
    overview,
    queue,
    queue_changes,
    queues,
    reaper,
    schedules,
    second_factor,
    service_configs,
    services,
)

app_name = "console"

urlpatterns = [
    path("", overview.overview, name="overview"),
    path("queues/", queues.queues, name="queues"),
    path("queues/new/", queue_changes.queue_new, name="queue_new"),
    path("queues/<int:queue_id>/", queue.queue, name="queue"),
    path("queues/<int:queue_id>/settings/", queue_changes.queue_settings, name="queue_settings"),
    path("queues/<int:queue_id>/pause/", queue_changes.queue_pause_asked, name="queue_pause"),
    path("queues/<int:queue_id>/resume/", queue_changes.queue_resume_asked, name="queue_resume"),
    path("queues/<int:queue_id>/purge/", queue_changes.queue_purge_asked, name="queue_purge"),
    path("queues/<int:queue_id>/delete/", queue_changes.queue_delete_asked, name="queue_delete"),
    path("services/", services.services, name="services"),
    path("services/<int:queue_id>/", services.service, name="service"),
    path("service-configs/", service_configs.service_configs, name="service_configs"),
    path("service-configs/new/", service_configs.service_config_new, name="service_config_new"),
    path("service-configs/<int:config_id>/", service_configs.service_config, name="service_config"),
    path(
        "service-configs/<int:config_id>/delete/", service_configs.service_config_remove, name="service_config_remove"
    ),
    path(
        "service-configs/versions/<int:version_id>/restore/",
        service_configs.service_config_back,
        name="service_config_back",
    ),
    path("schedules/", schedules.schedules, name="schedules"),
    path("schedules/new/", schedules.schedule_new, name="schedule_new"),
    path("schedules/<int:number>/", schedules.schedule, name="schedule"),
    path("schedules/<int:number>/edit/", schedules.schedule_edit, name="schedule_edit"),
    path("schedules/<int:number>/run/", schedules.schedule_run_asked, name="schedule_run"),
    path("schedules/<int:number>/switch/", schedules.schedule_switch_asked, name="schedule_switch"),
    path("schedules/<int:number>/delete/", schedules.schedule_delete_asked, name="schedule_delete"),
    path("nodes/", nodes.nodes, name="nodes"),
    path("reaper/", reaper.reaper, name="reaper"),
    path("database/", database.database, name="database"),
    path("analysts/", analysts.analysts, name="analysts"),
    path("second-factor/", second_factor.second_factor, name="second_factor"),
    path("audit/", audit.audit, name="audit"),
    path("", include("console.message_urls")),
]
