//! Routes: what is served, and under which headers.

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

use super::access::{Access, Pass, Refusal};
use super::metrics;
use super::reader::Snapshot;
use super::run_file::{RunFile, Stamp};

/// What all requests share.
pub(crate) struct Served {
    run: PathBuf,
    access: Access,
    page: Bytes,
    snapshots: watch::Receiver<Snapshot>,
    /// The report that was served last; one request at a time reads a new one.
    report: Mutex<Option<(Stamp, Bytes)>>,
}

/// All addresses there are; only these are answered, and only to these a token is exchanged.
const PATHS: [&str; 5] = ["/", "/data.json", "/report", "/metrics", OPEN_PATH];
/// Says no more than that somebody is there, and so to everybody.
const OPEN_PATH: &str = "/healthz";

impl Served {
    pub(crate) fn new(
        run: PathBuf,
        access: Access,
        snapshots: watch::Receiver<Snapshot>,
    ) -> Served {
        Served {
            run,
            access,
            page: swathe_run::page::live_page().into(),
            snapshots,
            report: Mutex::new(None),
        }
    }
}

/// The server.
pub(crate) fn router(served: Served) -> Router {
    let served = Arc::new(served);
    Router::new()
        .route(PATHS[0], get(page))
        .route(PATHS[1], get(data))
        .route(PATHS[2], get(report))
        .route(PATHS[3], get(metrics))
        .route(OPEN_PATH, get(async || text(StatusCode::OK, "ok\n")))
        .fallback(async || text(StatusCode::NOT_FOUND, "there is nothing here\n"))
        .layer(from_fn_with_state(Arc::clone(&served), guard))
        .with_state(served)
}

/// Every request passes here before anything else sees it.
async fn guard(State(served): State<Arc<Served>>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let pass = served.access.judge(
        request.method(),
        request.uri(),
        request.headers(),
        path == OPEN_PATH,
    );
    let mut response = match pass {
        Ok(Pass::Enter) => next.run(request).await,
        Ok(Pass::Exchange) => exchange(&served.access, path),
        Err(refusal) => refused(refusal),
    };
    set_headers(response.headers_mut());
    response
}

/// The token becomes a cookie, so that it stays in no history and no list of links.
fn exchange(access: &Access, path: &str) -> Response {
    // The address is one of ours, not the one that was asked for: that could lead anywhere.
    let own = PATHS.into_iter().find(|own| *own == path);
    let cookie = access
        .cookie()
        .and_then(|text| HeaderValue::from_str(&text).ok());
    let (Some(path), Some(cookie)) = (own, cookie) else {
        return text(StatusCode::NOT_FOUND, "there is nothing here\n");
    };
    let headers = [
        (header::LOCATION, HeaderValue::from_static(path)),
        (header::SET_COOKIE, cookie),
    ];
    (StatusCode::SEE_OTHER, headers).into_response()
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
        Refusal::Origin => text(
            StatusCode::FORBIDDEN,
            "pages from elsewhere are not answered\n",
        ),
        Refusal::Token => {
            let mut response = text(
                StatusCode::UNAUTHORIZED,
                "the token is missing or wrong: use the address that swathe watch printed, or \
                 send Authorization: Bearer TOKEN\n",
            );
            let scheme = HeaderValue::from_static("Bearer realm=\"swathe watch\"");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, scheme);
            response
        }
    }
}

/// The page draws itself with its own inline script and style, and asks this server alone.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; \
    style-src 'unsafe-inline'; img-src data: blob:; connect-src 'self'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";
/// A report asks nobody.
const REPORT_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; \
    style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";
/// Everything else is no page.
const DATA_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

fn set_headers(headers: &mut HeaderMap) {
    let policy = header::CONTENT_SECURITY_POLICY;
    headers
        .entry(policy)
        .or_insert(HeaderValue::from_static(DATA_POLICY));
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        // Connections are few: one that waits for the next question would keep another viewer out.
        (header::CONNECTION, "close"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

async fn page(State(served): State<Arc<Served>>) -> Response {
    html(served.page.clone(), PAGE_POLICY)
}

/// The page asks for this every second, and gets it only if it has changed.
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
    // Reading may take long on a network drive; others are served meanwhile.
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
        None => text(
            StatusCode::NOT_FOUND,
            "there is no report yet: it is written when the run ends\n",
        ),
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
