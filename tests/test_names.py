"""No module, class, function, method or field has a name that was replaced because only its author could guess it."""

import ast
from pathlib import Path

from tests.live_server import ROOT

OLD = """
ASPECTS Answering Arrival Ascent Ask Asked Behind Bell Block Board Book Bracket CacheChange Chain Changes Chips
Choosing Climb Cloud Collection Contents Course Curve DUTY Descent Desk Diary Done Draw Duty Ended Engines
Entered Entry Export Facts Fetch Fetched Figures Filler FilmFrame FreeSlider Gathered Glance HELD Handing Held
Holes InTurn Jobs JsonLines KNOBS Kept Knob LOOSE Leaving LeftOut Line Lines Look MARKS Marks MeasuredPoint
NAMED Notes Notice OneFile OneHot PATIENCE Pictures Piece Place Places Plane Pngs Presence PrintedCell Progress
Question Reel Remembered Result SURPRISE Save Says Schedule Separation Sheet Shelf Side Sight Squaring Standing
Stop Stoppable Story Streaming Sweep Tally Tape TextBank Things Tray Turns Waiting Walls Wish _Crew _Form _Left
_Words _alone _arrival _baseline _cloud _committed _convert _derived _ends _enter _fetch _harmless _heeding
_held _hire _jobs _knob _knock _lasts _layout _let_go _lose _measured _nobodys _panels _ring _said _sight
_spoken _state _theorem _tried _untuned _votes_for_itself _words _written about adopt again ahead answering
any_letters as_built ascend ascent ask asked at_strength attack_row attack_together attackers bare bars
beginning behind beside board borrowed bracket bundle but by_dataset by_nothing by_sign canonical choosing
chosen clock comparable conflicts controls course crossing descent desk diary diversity do draw_knob
drop_torn_line duty emptied evaluating evidence examples exports fades failure fetching filling film filming
finish finite fitting folding follow follow_on forget_closed form_of found_again from_ from_nearest gather
gathering ghost ground guarded guess hand_prompts hand_sentence handing heap held here hit holes house images
in_parts in_stretches in_turn inner inside_changes inside_deeper inside_panels inside_words intake is_full keep
keep_house keep_work_on kept_steps knob knob_of layouts left_in left_out left_to_it lesson letters light lit
logs look_at look_together looks looks_through making marks measuring naming needs_a_run no_room off_crops on
on_ray one_hot one_thread only ordered other_strengths outside over over_samples overview owed own_split
own_steps permalink photographed pieces places plane prefix prepared present printed read_ask reading recall
recalled recalling recent recluse recordings reeling reels refused remembered reopened replayed rest result
retelling returned room same_update saving scene schedule scrubber serving shaped sheets shelf sight sights
single smallest_change sniff solver soon space special spoken sprite squaring stay_in stopping story
stream_layout strip surest surveys sweep tell pipeline_run thread through through_crops through_defence tidy
to_levels to_linf_ball together toggle_item told turned twice_as_hard veils walls why wide without words worker
working write_whole writing_alone
"""


def defined_names(path: Path) -> set[str]:
    """Names of the module and of everything it defines: classes, functions, methods, fields, constants."""
    found = {path.stem}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            fields = [part.target for part in node.body if isinstance(part, ast.AnnAssign)]
            found |= {field.id for field in fields if isinstance(field, ast.Name)}
        if isinstance(node, ast.alias) and node.asname:
            found.add(node.asname)
    for node in tree.body:
        if isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def test_no_old_name_is_defined() -> None:
    files = [*(ROOT / "rita_demo").rglob("*.py"), *(ROOT / "tests").rglob("*.py"), ROOT / "app.py"]
    wrong = [
        f"{path.relative_to(ROOT)}: {name}" for path in files for name in sorted(defined_names(path) & set(OLD.split()))
    ]
    assert wrong == []


def test_the_walk_finds_definitions() -> None:
    assert {"test_names", "OLD", "defined_names"} <= defined_names(Path(__file__))
