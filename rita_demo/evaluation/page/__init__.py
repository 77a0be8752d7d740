"""The measurements of the page: streams, stored runs, feature clouds.

The page measures with ``evaluate`` into run folders of the same format. A visitor chooses from what the server's owner
offers and never gives a path.
"""

from rita_demo.evaluation.page.examples import EXAMPLES, find_stream, known_streams, shipped_cloud, shipped_streams
from rita_demo.evaluation.page.feature_cloud import TEXTURES, cloud_set, collect_steps, points_csv
from rita_demo.evaluation.page.measurements import Measured, compare_measured, find_right, known_measurements
from rita_demo.evaluation.page.stored_runs import (
    SHIPPED,
    arena_cells,
    class_counts,
    cloud_picture,
    live_set,
    load_cloud_steps,
    measured_points,
    picture_called,
    run_names,
    stored_streams,
)
from rita_demo.evaluation.page.streams import (
    MAX_PICTURES,
    MIN_PICTURES,
    TRAFFIC,
    DataFolders,
    MeasuredPicture,
    available,
    check_model,
    open_row,
    open_stream_picture,
    picture_of,
    request_for,
    rows_text,
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
