//! Access: which requests are answered.
//!
//! A web page can make the browser on this machine send requests to a local server, also under a
//! host name that has just been made to resolve to 127.0.0.1 (DNS rebinding). So a request must be
//! addressed to a name that is known to mean this server and must not come from another site's
//! page. From another machine it must also carry the token.

use std::net::{IpAddr, SocketAddr};

use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, Method, Uri, header};

use super::token::Token;

/// Decides which requests are answered.
pub(crate) struct Access {
    port: u16,
    /// Names and addresses that mean this server, in lower case, IPv6 in brackets.
    hosts: Vec<String>,
    /// Whether every IP address is accepted as a host: unlike a name, an address cannot be made to
    /// resolve to another machine.
    any_address: bool,
    token: Option<Token>,
}

/// How an accepted request is handled.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// The request is answered.
    Enter,
    /// The address contains the token: the response sets a cookie and redirects to the address
    /// without it.
    Exchange,
}

/// Why a request is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The method is not a reading one.
    Method,
    /// The request is addressed to another host.
    Host,
    /// The request comes from another site's page.
    Origin,
    /// The token is missing or wrong.
    Token,
}

impl Access {
    /// Access to a server at `at`, for which the user gave the address `bind`.
    pub(crate) fn new(bind: &str, at: SocketAddr, token: Option<Token>) -> Access {
        let mut hosts = vec![bind.to_ascii_lowercase(), bracketed(at.ip())];
        if at.ip().is_loopback() || at.ip().is_unspecified() {
            hosts.extend(["127.0.0.1", "localhost", "[::1]"].map(str::to_owned));
        }
        if at.ip().is_unspecified() {
            hosts.extend(machine_name());
        }
        Access { port: at.port(), hosts, any_address: at.ip().is_unspecified(), token }
    }

    /// The address of the page, including the token if there is one.
    pub(crate) fn url(&self, bind: &str, at: SocketAddr) -> String {
        let host = if at.ip().is_unspecified() {
            machine_name().unwrap_or_else(|| "127.0.0.1".to_owned())
        } else if bind.parse::<IpAddr>().is_ok() {
            bracketed(at.ip())
        } else {
            bind.to_owned()
        };
        let query = match &self.token {
            Some(token) => format!("?token={}", token.text()),
            None => String::new(),
        };
        format!("http://{host}:{}/{query}", self.port)
    }

    /// Whether a request is answered. If `is_open`, it needs no token.
    pub(crate) fn judge(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        is_open: bool,
    ) -> Result<Pass, Refusal> {
        if method != Method::GET && method != Method::HEAD {
            return Err(Refusal::Method);
        }
        let is_ours = |text: &str| self.is_own_host(text);
        let host = only(headers, &header::HOST).ok_or(Refusal::Host)?;
        if !is_ours(host) || uri.authority().is_some_and(|to| !is_ours(to.as_str())) {
            return Err(Refusal::Host);
        }
        if headers.contains_key(header::ORIGIN) && !self.is_own_origin(headers) {
            return Err(Refusal::Origin);
        }
        if comes_from_a_foreign_page(headers) {
            return Err(Refusal::Origin);
        }
        match &self.token {
            Some(token) if !is_open => self.judge_token(token, uri, headers),
            _ => Ok(Pass::Enter),
        }
    }

    fn judge_token(&self, token: &Token, uri: &Uri, headers: &HeaderMap) -> Result<Pass, Refusal> {
        let query = uri.query().unwrap_or_default();
        if let Some(offered) = query.split('&').find_map(|part| part.strip_prefix("token=")) {
            return match token.is(offered) {
                true => Ok(Pass::Exchange),
                false => Err(Refusal::Token),
            };
        }
        let bearer = only(headers, &header::AUTHORIZATION).and_then(|text| {
            let (scheme, rest) = text.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| rest.trim())
        });
        let name = self.cookie_name();
        let cookies = headers.get_all(header::COOKIE).into_iter();
        let mut offered = cookies
            .filter_map(|cookies| cookies.to_str().ok())
            .flat_map(|cookies| cookies.split(';'))
            .filter_map(|cookie| cookie.trim().strip_prefix(&name)?.strip_prefix('='))
            .chain(bearer);
        match offered.any(|offered| token.is(offered)) {
            true => Ok(Pass::Enter),
            false => Err(Refusal::Token),
        }
    }

    /// The cookie that carries the token from now on.
    pub(crate) fn cookie(&self) -> Option<String> {
        let token = self.token.as_ref()?;
        Some(format!("{}={}; Path=/; HttpOnly; SameSite=Strict", self.cookie_name(), token.text()))
    }

    /// The port is part of the name, because browsers send cookies to all ports of a host.
    fn cookie_name(&self) -> String {
        format!("swathe_watch_{}", self.port)
    }

    fn is_own_origin(&self, headers: &HeaderMap) -> bool {
        only(headers, &header::ORIGIN)
            .and_then(|origin| origin.strip_prefix("http://"))
            .is_some_and(|host| self.is_own_host(host))
    }

    /// Whether `host:port` means this server.
    fn is_own_host(&self, text: &str) -> bool {
        let Ok(authority) = text.parse::<Authority>() else {
            return false;
        };
        // An authority can contain a user name, which no browser sends here.
        if text.contains('@') || authority.port_u16().unwrap_or(80) != self.port {
            return false;
        }
        let host = authority.host().to_ascii_lowercase();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        self.hosts.contains(&host) || self.any_address && bare.parse::<IpAddr>().is_ok()
    }
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

/// An address as it is written in a URL.
fn bracketed(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

/// The host name of this machine.
fn machine_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let name = name.trim().to_ascii_lowercase();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn access(bind: &str, ip: &str, token: Option<&str>) -> Access {
        let at = SocketAddr::new(ip.parse().unwrap(), 8123);
        Access::new(bind, at, token.map(|text| Token::parse(text).unwrap()))
    }

    fn judge(
        access: &Access,
        uri: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<Pass, Refusal> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        access.judge(&Method::GET, &uri.parse().unwrap(), &map, false)
    }

    #[test]
    fn only_names_that_mean_this_server_are_answered() {
        let local = access("127.0.0.1", "127.0.0.1", None);
        for host in ["127.0.0.1:8123", "localhost:8123", "LOCALHOST:8123", "[::1]:8123"] {
            assert_eq!(judge(&local, "/", &[("host", host)]), Ok(Pass::Enter), "{host}");
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
            assert_eq!(judge(&local, "/", &[("host", host)]), Err(Refusal::Host), "{host}");
        }
        assert_eq!(judge(&local, "/", &[]), Err(Refusal::Host));
        let twice = [("host", "localhost:8123"), ("host", "localhost:8123")];
        assert_eq!(judge(&local, "/", &twice), Err(Refusal::Host));
        let elsewhere = judge(&local, "http://evil.example/", &[("host", "localhost:8123")]);
        assert_eq!(elsewhere, Err(Refusal::Host));
    }

    #[test]
    fn a_bound_name_or_address_is_answered_too() {
        let named = access("Box.example", "192.0.2.7", None);
        for (host, is_own) in [
            ("box.example:8123", true),
            ("192.0.2.7:8123", true),
            ("localhost:8123", false),
            ("192.0.2.8:8123", false),
        ] {
            let judged = judge(&named, "/", &[("host", host)]);
            assert_eq!(judged.is_ok(), is_own, "{host}");
        }
        let everywhere = access("0.0.0.0", "0.0.0.0", None);
        for (host, is_own) in [
            ("192.0.2.7:8123", true),
            ("[2001:db8::1]:8123", true),
            ("localhost:8123", true),
            ("evil.example:8123", false),
        ] {
            let judged = judge(&everywhere, "/", &[("host", host)]);
            assert_eq!(judged.is_ok(), is_own, "{host}");
        }
        let http = Access { port: 80, ..local_hosts() };
        assert_eq!(judge(&http, "/", &[("host", "localhost")]), Ok(Pass::Enter));
    }

    fn local_hosts() -> Access {
        access("127.0.0.1", "127.0.0.1", None)
    }

    #[test]
    fn foreign_pages_are_refused() {
        let local = local_hosts();
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
            let judged = judge(&local, "/", &[host, (name, value)]);
            assert_eq!(judged.is_ok(), is_fine, "{name}: {value}");
        }
        let link = [host, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")];
        assert_eq!(judge(&local, "/", &link), Ok(Pass::Enter));
    }

    #[test]
    fn a_token_comes_in_a_header_a_cookie_or_once_in_the_address() {
        let guarded = access("127.0.0.1", "127.0.0.1", Some(TOKEN));
        let host = ("host", "127.0.0.1:8123");
        let asked = |uri: &str, name: &'static str, value: &str| {
            judge(&guarded, uri, &[host, (name, value)])
        };
        assert_eq!(judge(&guarded, "/", &[host]), Err(Refusal::Token));
        let bearer = format!("Bearer {TOKEN}");
        assert_eq!(asked("/", "authorization", &bearer), Ok(Pass::Enter));
        let cookie = format!("theme=dark; swathe_watch_8123={TOKEN}");
        assert_eq!(asked("/", "cookie", &cookie), Ok(Pass::Enter));
        let query = format!("/?x=1&token={TOKEN}");
        assert_eq!(judge(&guarded, &query, &[host]), Ok(Pass::Exchange));
        for (uri, name, value) in [
            ("/", "authorization", "Bearer 0123456789abcdeg"),
            ("/", "authorization", TOKEN),
            ("/", "authorization", "Basic 0123456789abcdef"),
            ("/", "cookie", "swathe_watch_8124=0123456789abcdef"),
            ("/", "cookie", "swathe_watch_8123="),
            ("/?token=", "accept", "*/*"),
            ("/?token=0123456789abcde", "accept", "*/*"),
            ("/?token=wrong", "cookie", cookie.as_str()),
        ] {
            assert_eq!(asked(uri, name, value), Err(Refusal::Token), "{uri} {value}");
        }
        let mut headers = HeaderMap::new();
        headers.insert("host", host.1.parse().unwrap());
        let open = guarded.judge(&Method::GET, &"/".parse().unwrap(), &headers, true);
        assert_eq!(open, Ok(Pass::Enter), "what is open to all needs none");
    }

    #[test]
    fn only_reading_is_allowed() {
        let local = local_hosts();
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
            let judged = local.judge(&method, &uri, &headers, false);
            assert_eq!(judged.is_ok(), is_fine, "{method}");
        }
    }

    #[test]
    fn addresses_for_people() {
        let at: SocketAddr = "[::1]:8123".parse().unwrap();
        let access = Access::new("::1", at, None);
        assert_eq!(access.url("::1", at), "http://[::1]:8123/");
        let at: SocketAddr = "127.0.0.1:8123".parse().unwrap();
        let token = Token::parse(TOKEN).unwrap();
        let access = Access::new("localhost", at, Some(token));
        let url = access.url("localhost", at);
        assert_eq!(url, "http://localhost:8123/?token=0123456789abcdef");
    }
}
