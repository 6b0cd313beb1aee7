//! Access: which requests are answered.
//!
//! A web page can make the browser on this machine send requests to a local server, also under a
//! host name that has just been made to resolve to 127.0.0.1 (DNS rebinding). So a request must be
//! addressed to a name that is known to mean this server and must not come from another site's
//! page.

use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, Method, Uri, header};

/// The names and addresses that mean this machine, as a browser writes them.
const HOSTS: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// Why a request is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The method is not a reading one.
    Method,
    /// The request is addressed to another host.
    Host,
    /// The request comes from another site's page.
    Origin,
}

/// Whether a server at this port answers a request.
pub(crate) fn judge(
    port: u16,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<(), Refusal> {
    if method != Method::GET && method != Method::HEAD {
        return Err(Refusal::Method);
    }
    let is_ours = |text: &str| is_own_host(port, text);
    let host = only(headers, &header::HOST).ok_or(Refusal::Host)?;
    if !is_ours(host) || uri.authority().is_some_and(|to| !is_ours(to.as_str())) {
        return Err(Refusal::Host);
    }
    let is_own_origin = || {
        let origin = only(headers, &header::ORIGIN)?;
        origin.strip_prefix("http://").map(is_ours)
    };
    if headers.contains_key(header::ORIGIN) && is_own_origin() != Some(true) {
        return Err(Refusal::Origin);
    }
    match comes_from_a_foreign_page(headers) {
        true => Err(Refusal::Origin),
        false => Ok(()),
    }
}

/// Whether `host:port` means this server.
fn is_own_host(port: u16, text: &str) -> bool {
    let Ok(authority) = text.parse::<Authority>() else {
        return false;
    };
    // An authority can contain a user name, which no browser sends here.
    let is_plain = !text.contains('@') && authority.port_u16().unwrap_or(80) == port;
    is_plain && HOSTS.contains(&authority.host().to_ascii_lowercase().as_str())
}

/// Judges by the headers that browsers send even with requests without an origin, such as those for
/// pictures. Following a link from another site is allowed.
fn comes_from_a_foreign_page(headers: &HeaderMap) -> bool {
    let is = |name: &'static str, values: &[&str]| {
        let found = only(headers, &HeaderName::from_static(name));
        found.is_some_and(|found| values.contains(&found))
    };
    is("sec-fetch-site", &["cross-site", "same-site"]) && !is("sec-fetch-mode", &["navigate"])
}

/// The value of a header that occurs exactly once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).into_iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(port: u16, uri: &str, headers: &[(&'static str, &str)]) -> Result<(), Refusal> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        judge(port, &Method::GET, &uri.parse().unwrap(), &map)
    }

    #[test]
    fn only_names_that_mean_this_server_are_answered() {
        for host in ["127.0.0.1:8123", "localhost:8123", "LOCALHOST:8123", "[::1]:8123"] {
            assert_eq!(judged(8123, "/", &[("host", host)]), Ok(()), "{host}");
        }
        for host in [
            "evil.example:8123",
            "127.0.0.1:8124",
            "127.0.0.1",
            "localhost",
            "localhost.evil.example:8123",
            "127.0.0.1.evil.example:8123",
            "user@localhost:8123",
            "localhost:8123@evil.example",
            "127.0.0.2:8123",
            "0.0.0.0:8123",
            "",
            "::1:8123",
            "localhost:99999",
        ] {
            assert_eq!(judged(8123, "/", &[("host", host)]), Err(Refusal::Host), "{host}");
        }
        assert_eq!(judged(8123, "/", &[]), Err(Refusal::Host));
        let twice = [("host", "localhost:8123"), ("host", "localhost:8123")];
        assert_eq!(judged(8123, "/", &twice), Err(Refusal::Host));
        let elsewhere = judged(8123, "http://evil.example/", &[("host", "localhost:8123")]);
        assert_eq!(elsewhere, Err(Refusal::Host));
        assert_eq!(judged(80, "/", &[("host", "localhost")]), Ok(()));
    }

    #[test]
    fn foreign_pages_are_refused() {
        let host = ("host", "127.0.0.1:8123");
        for (name, value, is_fine) in [
            ("origin", "http://127.0.0.1:8123", true),
            ("origin", "http://localhost:8123", true),
            ("origin", "http://localhost:3000", false),
            ("origin", "https://127.0.0.1:8123", false),
            ("origin", "http://evil.example", false),
            ("origin", "null", false),
            ("sec-fetch-site", "same-origin", true),
            ("sec-fetch-site", "none", true),
            ("sec-fetch-site", "cross-site", false),
            ("sec-fetch-site", "same-site", false),
        ] {
            let judged = judged(8123, "/", &[host, (name, value)]);
            assert_eq!(judged.is_ok(), is_fine, "{name}: {value}");
        }
        let link = [host, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")];
        assert_eq!(judged(8123, "/", &link), Ok(()));
    }

    #[test]
    fn only_reading_is_allowed() {
        let mut headers = HeaderMap::new();
        headers.insert("host", "127.0.0.1:8123".parse().unwrap());
        let uri: Uri = "/".parse().unwrap();
        for (method, is_fine) in [
            (Method::GET, true),
            (Method::HEAD, true),
            (Method::POST, false),
            (Method::OPTIONS, false),
            (Method::DELETE, false),
        ] {
            let judged = judge(8123, &method, &uri, &headers);
            assert_eq!(judged.is_ok(), is_fine, "{method}");
        }
    }
}
