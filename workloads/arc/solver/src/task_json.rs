//! JSON as tasks have it: rows of small numbers, a byte each.
//!
//! A general JSON tree takes 32 bytes a cell, so that a file of 9 MB would take 300 MB before its
//! grid is found to be too large.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A parsed JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskJson {
    /// `null`.
    Null,
    /// A list of colours, from 0 to 9, that is not empty.
    Colors(Vec<u8>),
    /// Any other list.
    List(Vec<TaskJson>),
    /// An object; of two members with one name the last counts.
    Object(Vec<(String, TaskJson)>),
    /// A whole number.
    Number(i64),
    /// Any other number, a text or a truth value, as JSON writes it.
    Scalar(String),
}

impl TaskJson {
    /// The member of an object that has this name.
    pub fn get(&self, name: &str) -> Option<&TaskJson> {
        let TaskJson::Object(members) = self else {
            return None;
        };
        let found = members.iter().rev().find(|(member, _)| member == name);
        found.map(|(_, value)| value)
    }
}

impl fmt::Display for TaskJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TaskJson::Null => f.write_str("null"),
            TaskJson::Colors(_) | TaskJson::List(_) => f.write_str("a list"),
            TaskJson::Object(_) => f.write_str("an object"),
            TaskJson::Number(number) => write!(f, "{number}"),
            TaskJson::Scalar(text) => f.write_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for TaskJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TaskJson, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = TaskJson;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<TaskJson, E> {
        Ok(TaskJson::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<TaskJson, E> {
        Ok(TaskJson::Scalar(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<TaskJson, E> {
        Ok(TaskJson::Number(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<TaskJson, E> {
        let number = i64::try_from(value).map(TaskJson::Number);
        Ok(number.unwrap_or_else(|_| TaskJson::Scalar(value.to_string())))
    }

    fn visit_f64<E>(self, value: f64) -> Result<TaskJson, E> {
        // As `serde_json` writes it: 1.0 stays a fraction and is no colour.
        Ok(TaskJson::Scalar(format!("{value:?}")))
    }

    fn visit_str<E>(self, value: &str) -> Result<TaskJson, E> {
        Ok(TaskJson::Scalar(serde_json::Value::from(value).to_string()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<TaskJson, A::Error> {
        let mut colors: Vec<u8> = Vec::new();
        let mut values: Vec<TaskJson> = Vec::new();
        while let Some(value) = list.next_element::<TaskJson>()? {
            match value {
                TaskJson::Number(color @ 0..=9) if values.is_empty() => colors.push(color as u8),
                value => {
                    let before = colors.drain(..).map(|color| TaskJson::Number(color.into()));
                    values.extend(before);
                    values.push(value);
                }
            }
        }
        Ok(match colors.is_empty() {
            true => TaskJson::List(values),
            false => TaskJson::Colors(colors),
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<TaskJson, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = object.next_entry()? {
            members.push(member);
        }
        Ok(TaskJson::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> TaskJson {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn rows_are_bytes_and_all_else_is_kept_for_the_error() {
        assert_eq!(parse("[1, 0, 9]"), TaskJson::Colors(vec![1, 0, 9]));
        let TaskJson::List(mixed) = parse("[1, 10, -1, 1.0, \"1\", null, true]") else {
            panic!("it has what is no colour");
        };
        let shown: Vec<String> = mixed.iter().map(TaskJson::to_string).collect();
        assert_eq!(shown, ["1", "10", "-1", "1.0", "\"1\"", "null", "true"]);
        assert_eq!(parse("[]"), TaskJson::List(Vec::new()));
        let object = parse(r#"{"a": [1], "b": null, "a": [[2]]}"#);
        let last = TaskJson::List(vec![TaskJson::Colors(vec![2])]);
        assert_eq!(object.get("a"), Some(&last));
        assert_eq!(object.get("c"), None);
    }
}
