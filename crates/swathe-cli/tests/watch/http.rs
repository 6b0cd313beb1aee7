//! A minimal HTTP client over TCP, for requests of any form.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::watching::wait_for;

/// A request that takes longer hangs, even on the slowest machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Answer {
        assert_eq!(self.status, status, "{}", self.body);
        self
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(found, _)| found == name);
        found.map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// Requests a path under the server's own name.
pub(crate) fn get(server: SocketAddr, path: &str) -> Answer {
    ask(server, "GET", path, &[])
}

/// Sends a request with further headers. Without a `Host` among them, the server's own is sent.
pub(crate) fn ask(
    server: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> Answer {
    let mut stream = connect(server);
    send(&mut stream, server, method, path, headers);
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    parse(&String::from_utf8(bytes).unwrap())
}

pub(crate) fn connect(server: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect_timeout(&server, LIMIT).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.set_write_timeout(Some(LIMIT)).unwrap();
    stream
}

/// Sends HTTP 1.0, where a response ends with its connection and is not chunked.
fn send(
    stream: &mut TcpStream,
    server: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
) {
    let mut request = format!("{method} {path} HTTP/1.0\r\n");
    if !headers.iter().any(|(name, _)| *name == "Host") {
        request += &format!("Host: {server}\r\n");
    }
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    stream.write_all(format!("{request}\r\n").as_bytes()).unwrap();
}

fn parse(text: &str) -> Answer {
    let (head, body) = text.split_once("\r\n\r\n").expect("a whole head");
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap();
    Answer {
        status: status.parse().unwrap(),
        headers: lines
            .map(|line| {
                let (name, value) = line.split_once(": ").unwrap();
                (name.to_ascii_lowercase(), value.to_owned())
            })
            .collect(),
        body: body.to_owned(),
    }
}

/// A viewer: polls `/data.json`, as the page does.
pub(crate) struct Viewer {
    server: SocketAddr,
    etag: String,
}

impl Viewer {
    pub(crate) fn new(server: SocketAddr) -> Viewer {
        Viewer { server, etag: String::new() }
    }

    /// The view, if it differs from the last one.
    #[track_caller]
    pub(crate) fn poll(&mut self) -> Option<Value> {
        let known = [("If-None-Match", self.etag.as_str())];
        let answer = ask(self.server, "GET", "/data.json", &known);
        if answer.status == 304 {
            assert_eq!(answer.header("etag"), Some(self.etag.as_str()));
            assert_eq!(answer.body, "");
            return None;
        }
        let answer = answer.expect(200);
        let etag = answer.header("etag").unwrap().to_owned();
        assert_ne!(etag, self.etag, "the same figures are sent again");
        self.etag = etag;
        Some(answer.json())
    }

    /// The next view that satisfies a condition.
    #[track_caller]
    pub(crate) fn until(&mut self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let mut found = None;
        wait_for(what, || {
            found = self.poll().filter(&holds);
            found.is_some()
        });
        found.unwrap_or_default()
    }
}
