"""All programs on all tasks, and the two best outputs of each test as a submission.

    python grid_submission.py [PROGRAMS.py TASKS.json SUBMISSION.json]

Tasks are as Kaggle has them: {"task": {"train": [{"input", "output"}, …], "test": […]}}. Programs
are functions `solve_…(I)` in the ARC DSL. Without arguments those of `swathe demo` are taken.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import swathe


def sample_data():
    """Programs and tasks of the demo, and a place for the submission."""
    demo = Path(tempfile.mkdtemp(prefix="grids-", dir=".")) / "demo"
    subprocess.run([sys.executable, "-m", "swathe", "-q", "demo", "--out", demo], check=True)
    return demo / "data/programs.py", demo / "data/tasks.json", demo.parent / "submission.json"


def main(programs, tasks, submission):
    library = swathe.arc.Library.from_file(programs)
    tasks = json.loads(Path(tasks).read_text())
    print(f"{len(library)} programs, {len(tasks)} tasks")
    for problem in library.rejected:
        print("rejected:", problem)

    results = library.run(tasks)
    results.print_stats()
    for task, names in list(results.solved.items())[:3]:
        print(f"  {task}: {', '.join(names)}")

    Path(submission).write_text(json.dumps(results.submission()))
    print(submission)


if __name__ == "__main__":
    main(*(sys.argv[1:] or sample_data()))
