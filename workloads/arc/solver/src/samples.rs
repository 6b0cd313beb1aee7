//! Tasks and programs written for this project, for demonstrations and first steps.

/// Ninety-nine programs: `solve_<task>` for each of the [tasks](TASKS), alternatives, near misses, and some that fail.
/// Together they use every primitive of the reference.
pub const PROGRAMS: &str = include_str!("../samples/programs.py");

macro_rules! task {
    ($name:literal) => {
        ($name, include_str!(concat!("../samples/tasks/", $name, ".json")))
    };
}

/// The tasks: name and JSON.
pub const TASKS: [(&str, &str); 44] = [
    task!("01fce304"),
    task!("09796207"),
    task!("0a886352"),
    task!("0d258347"),
    task!("10cbef69"),
    task!("2586446a"),
    task!("3af21fc4"),
    task!("3ce492e8"),
    task!("3d063681"),
    task!("4546c229"),
    task!("45bb4090"),
    task!("49807bac"),
    task!("4caccd22"),
    task!("4dc860aa"),
    task!("55c4ec49"),
    task!("58abcc48"),
    task!("602004a3"),
    task!("65d735c0"),
    task!("6837c88c"),
    task!("70216c3b"),
    task!("728be683"),
    task!("734969db"),
    task!("816e6714"),
    task!("8a0ab703"),
    task!("8a14df7b"),
    task!("8a9ba78e"),
    task!("90c82409"),
    task!("91ddbba7"),
    task!("9ddf2f1b"),
    task!("a0eda500"),
    task!("a1cada90"),
    task!("a296aa1f"),
    task!("b0610b42"),
    task!("b5136168"),
    task!("b903fe14"),
    task!("bb049c3e"),
    task!("bc28581c"),
    task!("c0dd6f79"),
    task!("c479b3a1"),
    task!("cfbf7841"),
    task!("d339a1cf"),
    task!("e9faa65a"),
    task!("f331f255"),
    task!("f7f689fd"),
];

/// All tasks by name in one JSON text.
///
/// ```
/// let text = swathe_arc::samples::tasks_json();
/// assert!(text.starts_with(r#"{"01fce304": {"#));
/// ```
pub fn tasks_json() -> String {
    let tasks: Vec<String> =
        TASKS.iter().map(|(name, task)| format!("\"{name}\": {}", task.trim_end())).collect();
    format!("{{{}}}\n", tasks.join(",\n"))
}
