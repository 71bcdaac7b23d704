"""An Airflow DAG (2.4 or newer): a run every ten minutes, then the report of the last week, once a day.

Set the variables willow_database_url and willow_archive in Airflow. The machine needs Willow's folder at /opt/willow.
"""

from datetime import datetime, timedelta

from airflow import DAG
from airflow.operators.bash import BashOperator

WILLOW = {
    "DATABASE_URL": "{{ var.value.willow_database_url }}",
    "WILLOW_PIPELINE_ARCHIVE": "{{ var.value.willow_archive }}",
}
EVERY_RUN = {"retries": 2, "retry_delay": timedelta(minutes=1)}

with DAG(
    "willow_pipeline",
    schedule="*/10 * * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    default_args=EVERY_RUN,
):
    BashOperator(
        task_id="run",
        # Exit code 3: another run is in progress. Airflow shows the task as skipped.
        bash_command="/opt/willow/willow pipeline run",
        skip_on_exit_code=3,
        env=WILLOW,
        append_env=True,
    )

with DAG("willow_report", schedule="0 6 * * *", start_date=datetime(2026, 1, 1), catchup=False, default_args=EVERY_RUN):
    BashOperator(
        task_id="report",
        bash_command="/opt/willow/willow pipeline report --output /srv/reports/willow.html",
        env=WILLOW,
        append_env=True,
    )
