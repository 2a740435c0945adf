//! Reads the small documents in the state file from JSON values.
//!
//! Every hook links the code for every document that it may meet. A derived `Deserialize` costs
//! about 300 bytes per member and reads a thousand tasks fast; this costs about 40 and is for
//! documents that come in ones and twos.

use jiff::Timestamp;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;

/// A JSON value of the wrong type: where it is, and the type that was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    at: String,
    wanted: &'static str,
}

impl fmt::Display for Mistake {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "`{}` is not {}", self.at, self.wanted)
    }
}

impl Mistake {
    /// Prefixes the path with the name of the enclosing member.
    #[inline(never)]
    pub(crate) fn inside(mut self, name: &str) -> Mistake {
        let dot = if self.at.is_empty() { "" } else { "." };
        self.at = format!("{name}{dot}{}", self.at);
        self
    }
}

/// Builds the error for a value of the wrong type.
pub(crate) fn mistake<T>(wanted: &'static str) -> Result<T, Mistake> {
    Err(Mistake { at: String::new(), wanted })
}

/// A type that can be read from a JSON value.
pub trait FromJson: Sized {
    /// # Errors
    /// If the value, or a value inside it, has the wrong type.
    fn from_json(value: Value) -> Result<Self, Mistake>;
}

/// The members of an object, removed one by one as they are read.
#[derive(Debug)]
pub struct Members(Map<String, Value>);

impl Members {
    /// # Errors
    /// If the value is not an object.
    pub fn of(value: Value) -> Result<Members, Mistake> {
        match value {
            Value::Object(members) => Ok(Members(members)),
            _ => mistake("an object"),
        }
    }

    /// Moves a member into `place`. If the member is absent, `place` keeps its value.
    ///
    /// # Errors
    /// If the member has the wrong type.
    #[inline(never)]
    pub fn take<T: FromJson>(&mut self, name: &str, place: &mut T) -> Result<(), Mistake> {
        let Some(value) = self.remove(name) else { return Ok(()) };
        match T::from_json(value) {
            Ok(read) => *place = read,
            Err(mistake) => return Err(mistake.inside(name)),
        }
        Ok(())
    }

    // Not inlined into `take`, which is instantiated once per type.
    #[inline(never)]
    fn remove(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }

    /// Returns the members that were not taken.
    pub fn rest(self) -> BTreeMap<String, Value> {
        // No `collect`: it would sort members that are already sorted, and link the code for that.
        let mut rest = BTreeMap::new();
        for (name, value) in self.0 {
            rest.insert(name, value);
        }
        rest
    }
}

/// Implements [`FromJson`] member by member. Absent members get their default, `extra` collects
/// unknown members, and an optional function adjusts the result.
macro_rules! from_json {
    ($name:ident { $($field:ident),+ $(,)? $(; $extra:ident)? } $($then:expr)?) => {
        impl $crate::text::from_json::FromJson for $name {
            fn from_json(
                value: serde_json::Value,
            ) -> Result<Self, $crate::text::from_json::Mistake> {
                let mut members = $crate::text::from_json::Members::of(value)?;
                let mut read = $name::default();
                $(members.take(stringify!($field), &mut read.$field)?;)+
                $(read.$extra = members.rest();)?
                $(let read = ($then)(read);)?
                Ok(read)
            }
        }

        impl TryFrom<serde_json::Value> for $name {
            type Error = $crate::text::from_json::Mistake;

            fn try_from(value: serde_json::Value) -> Result<Self, Self::Error> {
                $crate::text::from_json::FromJson::from_json(value)
            }
        }
    };
}
pub(crate) use from_json;

impl FromJson for String {
    fn from_json(value: Value) -> Result<Self, Mistake> {
        match value {
            Value::String(text) => Ok(text),
            _ => mistake("a text"),
        }
    }
}

impl FromJson for bool {
    fn from_json(value: Value) -> Result<Self, Mistake> {
        value.as_bool().map_or_else(|| mistake("true or false"), Ok)
    }
}

impl FromJson for u64 {
    fn from_json(value: Value) -> Result<Self, Mistake> {
        value.as_u64().map_or_else(|| mistake("a whole number from 0 up"), Ok)
    }
}

impl FromJson for u32 {
    fn from_json(value: Value) -> Result<Self, Mistake> {
        u32::try_from(u64::from_json(value)?).or_else(|_| mistake("a number of this size"))
    }
}

impl FromJson for f64 {
    fn from_json(value: Value) -> Result<Self, Mistake> {
        value.as_f64().map_or_else(|| mistake("a number"), Ok)
    }
}

impl FromJson for usize {
    fn from_json(value: Value) -> Result<Self, Mistake> {
        usize::try_from(u64::from_json(value)?).or_else(|_| mistake("a number of this size"))
    }
}

impl FromJson for i32 {
    fn from_json(value: Value) -> Result<Self, Mistake> {
        let number = value.as_i64().and_then(|number| i32::try_from(number).ok());
        number.map_or_else(|| mistake("a whole number"), Ok)
    }
}

impl FromJson for Timestamp {
    fn from_json(value: Value) -> Result<Self, Mistake> {
        // jiff's own error texts are the largest part of its parser.
        String::from_json(value)?
            .parse()
            .or_else(|_| mistake("a time such as 2026-01-31T23:59:59Z"))
    }
}

impl FromJson for Value {
    fn from_json(value: Value) -> Result<Self, Mistake> {
        Ok(value)
    }
}

impl<T: FromJson> FromJson for Option<T> {
    fn from_json(value: Value) -> Result<Self, Mistake> {
        if value.is_null() { Ok(None) } else { T::from_json(value).map(Some) }
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn from_json(value: Value) -> Result<Self, Mistake> {
        let Value::Array(items) = value else { return mistake("a list") };
        let mut read = Vec::with_capacity(items.len());
        for item in items {
            read.push(T::from_json(item)?);
        }
        Ok(read)
    }
}

impl<T: FromJson> FromJson for BTreeMap<String, T> {
    fn from_json(value: Value) -> Result<Self, Mistake> {
        let mut read = BTreeMap::new();
        for (name, value) in Members::of(value)?.0 {
            read.insert(name, T::from_json(value)?);
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(Debug, Default, PartialEq)]
    struct Inner {
        count: u32,
        at: Option<Timestamp>,
    }

    #[derive(Debug, Default, PartialEq)]
    struct Outer {
        name: String,
        inner: Vec<Inner>,
        extra: BTreeMap<String, Value>,
    }

    from_json!(Inner { count, at });
    from_json!(Outer { name, inner; extra });

    #[test]
    fn what_is_absent_has_its_default_and_what_is_unknown_is_kept() {
        let text = json!({"inner": [{"count": 3, "at": null}], "colour": "red"});
        let read = Outer::from_json(text).unwrap();
        assert_eq!(read.inner, [Inner { count: 3, at: None }]);
        assert_eq!((read.name.as_str(), &read.extra["colour"]), ("", &json!("red")));
    }

    #[track_caller]
    fn check(text: Value, expected: &str) {
        assert_eq!(Outer::from_json(text).unwrap_err().to_string(), expected);
    }

    #[test]
    fn a_value_of_another_shape_is_named() {
        check(json!({"name": 3}), "`name` is not a text");
        check(json!({"inner": [{"count": -1}]}), "`inner.count` is not a whole number from 0 up");
        check(
            json!({"inner": [{"at": "soon"}]}),
            "`inner.at` is not a time such as 2026-01-31T23:59:59Z",
        );
        check(json!([]), "`` is not an object");
    }

    #[track_caller]
    fn check_reads<T: FromJson + PartialEq + fmt::Debug>(value: Value, expected: Result<T, &str>) {
        let read = T::from_json(value).map_err(|mistake| mistake.to_string());
        assert_eq!(read, expected.map_err(str::to_owned));
    }

    #[test]
    fn every_simple_value_is_read_or_refused() {
        check_reads(json!("a"), Ok("a".to_owned()));
        check_reads(json!(true), Ok(true));
        check_reads::<bool>(json!(1), Err("`` is not true or false"));
        check_reads(json!(7), Ok(7_u64));
        check_reads(json!(7), Ok(7_u32));
        check_reads::<u32>(json!(u64::MAX), Err("`` is not a number of this size"));
        check_reads(json!(7), Ok(7_usize));
        check_reads::<usize>(json!("7"), Err("`` is not a whole number from 0 up"));
        check_reads(json!(-7), Ok(-7_i32));
        check_reads::<i32>(json!(1.5), Err("`` is not a whole number"));
        check_reads(json!({"a": 1}), Ok(json!({"a": 1})));
        check_reads(json!(null), Ok(Option::<bool>::None));
        check_reads(json!(false), Ok(Some(false)));
        check_reads(json!([1, 2]), Ok(vec![1_u32, 2]));
        check_reads::<Vec<u32>>(json!({}), Err("`` is not a list"));
        check_reads(json!({"a": 1}), Ok(BTreeMap::from([("a".to_owned(), 1_u32)])));
    }

    #[test]
    fn a_time_is_read() {
        let second = Timestamp::from_second(1).unwrap();
        check_reads(json!("1970-01-01T00:00:01Z"), Ok(second));
    }
}
