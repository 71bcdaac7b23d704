"""Where Django looks for the models of this app. Each is defined in the room that it belongs to."""

from delivery.facts.archive_models import (
    ArchiveDay,
    ArchiveLeftover,
    Erasure,
    IcebergNamespaceProperty,
    IcebergTable,
    PendingDay,
    PipelineOffset,
)
from delivery.facts.models import (
    ClientFact,
    DeadLetterCluster,
    HealthFinding,
    NodeFact,
    PipelineRun,
    QueueFact,
    ServiceFact,
)
from delivery.moves.models import (
    DedupeValue,
    EndedCount,
    Journal,
    KeptReply,
    Message,
    PendingNotice,
    RoleGrant,
    TransactionalPost,
)
from delivery.operating.models import AuditEntry, RedriveJob, RedrivenMessage, SessionOrder
from delivery.reaper.models import DutyRun
from delivery.schedules.models import Schedule, ScheduleRun, ScheduleWatch
from delivery.serving.models import Service, ServiceConfig, ServiceConfigVersion, Worker

__all__ = [
    "ArchiveDay",
    "ArchiveLeftover",
    "AuditEntry",
    "ClientFact",
    "DeadLetterCluster",
    "DedupeValue",
    "DutyRun",
    "EndedCount",
    "Erasure",
    "HealthFinding",
    "IcebergNamespaceProperty",
    "IcebergTable",
    "Journal",
    "KeptReply",
    "Message",
    "NodeFact",
    "PendingDay",
    "PendingNotice",
    "PipelineOffset",
    "PipelineRun",
    "QueueFact",
    "RedriveJob",
    "RedrivenMessage",
    "RoleGrant",
    "Schedule",
    "ScheduleRun",
    "ScheduleWatch",
    "Service",
    "ServiceConfig",
    "ServiceConfigVersion",
    "ServiceFact",
    "SessionOrder",
    "TransactionalPost",
    "Worker",
]
