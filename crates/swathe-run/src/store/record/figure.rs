//! Figures: the values of a row for Python and JSON.

use serde_json::Value;

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// None.
    Null,
    /// True or false.
    Flag(bool),
    /// An integer.
    Count(u128),
    /// A number; it may be NaN or infinite.
    Number(f64),
    /// A text.
    Text(String),
    /// Several values.
    List(Vec<Figure>),
}

/// Cells with values for Python and JSON.
pub trait Figures {
    /// Appends the values, one for each column.
    fn figures(&self, figures: &mut Vec<Figure>);
}

/// JSON knows neither NaN nor infinity, which become null. An integer beyond 64 bits becomes a decimal string.
impl From<Figure> for Value {
    fn from(figure: Figure) -> Value {
        match figure {
            Figure::Null => Value::Null,
            Figure::Flag(flag) => Value::from(flag),
            Figure::Count(count) => match u64::try_from(count) {
                Ok(count) => Value::from(count),
                Err(_) => Value::from(count.to_string()),
            },
            Figure::Number(number) => Value::from(number),
            Figure::Text(text) => Value::from(text),
            Figure::List(figures) => figures.into_iter().map(Value::from).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_has_what_it_can_say() {
        for (figure, value) in [
            (Figure::Null, json!(null)),
            (Figure::Flag(true), json!(true)),
            (Figure::Count(7), json!(7)),
            (Figure::Count(1 << 64), json!("18446744073709551616")),
            (Figure::Number(0.5), json!(0.5)),
            (Figure::Number(f64::INFINITY), json!(null)),
            (Figure::Text("a".to_owned()), json!("a")),
            (Figure::List(vec![Figure::Count(1), Figure::Null]), json!([1, null])),
        ] {
            assert_eq!(Value::from(figure), value);
        }
    }
}
