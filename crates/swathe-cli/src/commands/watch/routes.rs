//! Routes: what is served, and with which headers.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::sync::{Mutex, watch};

use super::access::{Refusal, judge};
use super::metrics;
use super::reader::Snapshot;
use super::run_file::{RunFile, Stamp};

/// State that all requests share.
pub(crate) struct Served {
    run: PathBuf,
    port: u16,
    page: Bytes,
    snapshots: watch::Receiver<Snapshot>,
    /// Caches the report that was served last. The lock lets one request at a time read a new one.
    report: Mutex<Option<(Stamp, Bytes)>>,
}

impl Served {
    /// What a server at this port serves of a run.
    pub(crate) fn new(run: PathBuf, port: u16, snapshots: watch::Receiver<Snapshot>) -> Served {
        Served {
            run,
            port,
            page: swathe_run::page::live_page().into(),
            snapshots,
            report: Mutex::new(None),
        }
    }
}

/// The routes, behind the access check.
pub(crate) fn router(served: Served) -> Router {
    let served = Arc::new(served);
    Router::new()
        .route("/", get(page))
        .route("/data.json", get(data))
        .route("/report", get(report))
        .route("/metrics", get(metrics))
        .route("/healthz", get(async || text(StatusCode::OK, "ok\n")))
        .fallback(async || text(StatusCode::NOT_FOUND, "there is nothing here\n"))
        .layer(from_fn_with_state(Arc::clone(&served), guard))
        .with_state(served)
}

/// Checks access before any route handles the request, and sets the headers of every response.
async fn guard(State(served): State<Arc<Served>>, request: Request, next: Next) -> Response {
    let judged = judge(served.port, request.method(), request.uri(), request.headers());
    let mut response = match judged {
        Ok(()) => next.run(request).await,
        Err(refusal) => refused(refusal),
    };
    set_headers(response.headers_mut());
    response
}

fn refused(refusal: Refusal) -> Response {
    match refusal {
        Refusal::Method => {
            let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
            let allowed = HeaderValue::from_static("GET, HEAD");
            response.headers_mut().insert(header::ALLOW, allowed);
            response
        }
        Refusal::Host => text(
            StatusCode::MISDIRECTED_REQUEST,
            "this server goes by another name: use the address that swathe watch printed\n",
        ),
        Refusal::Origin => text(StatusCode::FORBIDDEN, "pages from elsewhere are not answered\n"),
    }
}

/// The live page uses inline scripts and styles, and connects to this server alone.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; \
    style-src 'unsafe-inline'; img-src data: blob:; connect-src 'self'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";
/// A report connects to no server.
const REPORT_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; \
    style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";
/// All other responses are data, not pages.
const DATA_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

fn set_headers(headers: &mut HeaderMap) {
    let policy = header::CONTENT_SECURITY_POLICY;
    headers.entry(policy).or_insert(HeaderValue::from_static(DATA_POLICY));
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        // The number of connections is limited: an idle one that waits for the next request would
        // keep another viewer out.
        (header::CONNECTION, "close"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

async fn page(State(served): State<Arc<Served>>) -> Response {
    html(served.page.clone(), PAGE_POLICY)
}

/// The page polls this every second; an unchanged document is not sent again.
async fn data(State(served): State<Arc<Served>>, headers: HeaderMap) -> Response {
    let Snapshot { json, etag, .. } = served.snapshots.borrow().clone();
    let is_known = headers.get(header::IF_NONE_MATCH) == Some(&etag);
    let tag = [(header::ETAG, etag)];
    match is_known {
        true => (StatusCode::NOT_MODIFIED, tag).into_response(),
        false => (tag, [(header::CONTENT_TYPE, "application/json")], json).into_response(),
    }
}

async fn metrics(State(served): State<Arc<Served>>) -> Response {
    let figures = served.snapshots.borrow().metrics.clone();
    ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], figures).into_response()
}

async fn report(State(served): State<Arc<Served>>) -> Response {
    let mut last = served.report.lock().await;
    let run = served.run.clone();
    let known = last.as_ref().map(|(stamp, _)| *stamp);
    // Reading may take long on a network drive; a blocking task leaves the server free for other
    // requests.
    let read = tokio::task::spawn_blocking(move || match RunFile::Page.stamp(&run)? {
        Some(stamp) if Some(stamp) == known => Ok(None),
        _ => RunFile::Page.read(&run).map(Some),
    });
    match read.await {
        Ok(Ok(Some((stamp, bytes)))) => *last = Some((stamp, bytes.into())),
        Ok(Ok(None)) => {}
        Ok(Err(error)) if error.kind() == std::io::ErrorKind::NotFound => *last = None,
        Ok(Err(_)) | Err(_) => {
            let why = "report.html cannot be read\n";
            return text(StatusCode::INTERNAL_SERVER_ERROR, why);
        }
    }
    match &*last {
        Some((_, report)) => html(report.clone(), REPORT_POLICY),
        None => {
            text(StatusCode::NOT_FOUND, "there is no report yet: it is written when the run ends\n")
        }
    }
}

fn html(page: Bytes, policy: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, policy),
    ];
    (headers, page).into_response()
}

fn text(status: StatusCode, words: &'static str) -> Response {
    let headers = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
    (status, headers, words).into_response()
}
