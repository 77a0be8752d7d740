"""The measurements of the page: streams, stored runs, feature clouds.

The page measures with ``evaluate`` into run folders of the same format. A visitor chooses from what the server's owner
offers and never gives a path.
"""

from rita_demo.evaluation.page.clouds import (
    TEXTURES,
    class_counts,
    cloud_picture,
    cloud_set,
    collect_steps,
    live_set,
    load_cloud_steps,
    points_csv,
    shipped_cloud,
    stored_streams,
)
from rita_demo.evaluation.page.runs import (
    SHIPPED,
    Measured,
    arena_cells,
    compare_measured,
    find_right,
    known_measurements,
    measured_points,
    run_names,
)
from rita_demo.evaluation.page.streams import (
    EXAMPLES,
    MAX_PICTURES,
    MIN_PICTURES,
    TRAFFIC,
    DataFolders,
    available,
    check_model,
    find_stream,
    known_streams,
    open_row,
    open_stream_picture,
    picture_called,
    picture_of,
    request_for,
    rows_text,
    shipped_streams,
    stream_run_of,
    stream_steps,
)
from rita_demo.evaluation.report.cells import NO_COUNT
from rita_demo.evaluation.report.only_right import OnlyRight, won_csv
from rita_demo.evaluation.request import ORDERS, Request
from rita_demo.evaluation.stored_views import stored_views_csv
from rita_demo.evaluation.stream_trajectory import (
    WITHOUT_CACHE,
    accuracy_summaries,
    classes_after,
    compare_answers,
    remembered_features,
    remembered_views,
    throughput,
    trajectory_of,
    view_boxes,
)
from rita_demo.evaluation.streams import StreamRun, stream_choices, stream_runs
