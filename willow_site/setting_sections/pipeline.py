"""The data pipeline."""

from dataclasses import dataclass
from urllib.parse import SplitResult

from willow_site import setting_kinds as kinds
from willow_site.setting_declaration import setting
from willow_site.setting_sections.common_kinds import PLACE


def _has_host_and_database(parts: SplitResult) -> bool:
    has_host = bool(parts.hostname) or "host=" in parts.query
    return has_host and len(parts.path) > 1


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    pipeline_archive: str | None = setting(
        "WILLOW_PIPELINE_ARCHIVE",
        PLACE,
        None,
        "Where the pipeline keeps the archive of the journal; must be the same everywhere the pipeline runs.",
        default_about="`archive` in `WILLOW_HOME`",
    )
    pipeline_read_url: str | None = setting(
        "WILLOW_PIPELINE_READ_URL",
        kinds.url(
            "postgresql",
            "postgres",
            example="postgresql://willow_analyst:password@host:5432/willow",
            check=_has_host_and_database,
        ),
        None,
        "The database URL that Spark reads from: with the role that `analyst_role` creates, or of a replica.",
        secret=True,
        default_about="same as `DATABASE_URL`",
    )
    pipeline_master: str = setting(
        "WILLOW_PIPELINE_MASTER",
        kinds.text(r"(local|spark|k8s|yarn|mesos)[!-~]*", "a Spark master, such as local[*] or spark://host:7077"),
        "local[*]",
        "The Spark master that the pipeline runs on.",
    )
    pipeline_memory: str = setting(
        "WILLOW_PIPELINE_MEMORY",
        kinds.text(r"[1-9][0-9]*[mg]", "a size such as 512m or 4g"),
        "1g",
        "The memory of the Spark driver; with a local master, of all of Spark.",
    )
    pipeline_driver: str | None = setting(
        "WILLOW_PIPELINE_DRIVER",
        kinds.text(r"[!-~]+", "the path of a jar, or a Maven coordinate such as org.postgresql:postgresql:42.7.4"),
        None,
        "The JDBC driver that Spark uses for PostgreSQL.",
        default_about="the one that `./willow pipeline` installs, or else the system's",
    )
    pipeline_minutes: float = setting(
        "WILLOW_PIPELINE_MINUTES",
        kinds.number(0.1, 10_080),
        "10",
        "How often `pipeline_schedule` runs the pipeline, and `follow` computes hours and days.",
        unit="minutes",
    )
    pipeline_lineage: str | None = setting(
        "WILLOW_PIPELINE_LINEAGE",
        kinds.text(r"(https?://|/)[!-~]+", "a URL such as http://marquez:5000, or the path of a file"),
        None,
        "Where the pipeline sends OpenLineage events: a server, or a file that gets a line for each.",
        default_about="none are sent",
    )
    keep_unarchived: bool = setting(
        "WILLOW_KEEP_UNARCHIVED",
        kinds.switch(),
        "off",
        "Whether days of the journal are kept until the pipeline has archived and verified them.",
    )
