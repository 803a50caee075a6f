// Keeps the built site for visits without a network.
//
// Registered as `service-worker.js?build=<hash>` from the page, where <hash> is `build` of
// files.json; a new build is a new address, hence a new worker. Files whose address carries a
// content hash come from the cache first; the page itself from the network first.

const scope = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self));
const build = new URL(scope.location.href).searchParams.get("build") ?? "";
const root = new URL("./", scope.location.href);
const page = new URL("index.html", root);
const PREFIX = `tabgrad ${root.pathname} `;
const cacheName = PREFIX + build;
const HASHED = /^[^/]+-[0-9a-f]{12}\//;

/** @typedef {{url: string, sha256: string}} ListedFile */

scope.addEventListener("install", (event) => event.waitUntil(install()));
scope.addEventListener("activate", (event) => event.waitUntil(activate()));
scope.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== root.origin) return;
  if (request.mode === "navigate") event.respondWith(fromNetworkFirst(request));
  else if (HASHED.test(url.pathname.slice(root.pathname.length))) {
    event.respondWith(fromCacheFirst(request));
  }
});

/** Fetches what files.json lists; no skipWaiting: pages of an older build keep its cache.
 * What an older build's cache has under the same address stays. */
async function install() {
  const manifest = new URL(`site-${build}/files.json`, root);
  const response = await fetch(manifest);
  if (!response.ok) throw new Error(`${manifest.pathname}: ${response.status}`);
  const listed = /** @type {{files: Record<string, ListedFile>}} */ (await response.clone().json());
  const cache = await caches.open(cacheName);
  await cache.put(manifest, response);
  await cache.put(page, await checked(new Request(page, { cache: "no-cache" })));
  for (const { url, sha256 } of Object.values(listed.files)) {
    const address = new URL(url, root);
    const known = await caches.match(address);
    await cache.put(address, known ?? (await checked(address, sha256)));
  }
}

/** Drops the caches of other builds: every address in them that is still used was copied. */
async function activate() {
  const old = (await caches.keys()).filter((key) => key.startsWith(PREFIX) && key !== cacheName);
  await Promise.all(old.map((key) => caches.delete(key)));
  await scope.clients.claim();
}

/**
 * A whole and right file, or an error: a host's "not found" page must never be kept as a file.
 * @param {URL | Request} address
 * @param {string} [sha256] hex
 */
async function checked(address, sha256) {
  const integrity = sha256 === undefined ? "" : `sha256-${base64(sha256)}`;
  const response = await fetch(address, { integrity });
  if (!response.ok) throw new Error(`${response.url}: ${response.status}`);
  return response;
}

/** @param {Request} request */
async function fromCacheFirst(request) {
  return (await caches.match(request.url)) ?? fetch(request);
}

/** @param {Request} request */
async function fromNetworkFirst(request) {
  try {
    return await fetch(request);
  } catch (error) {
    const kept = await caches.match(page);
    if (kept === undefined) throw error;
    return kept;
  }
}

/** @param {string} hex */
function base64(hex) {
  const bytes = hex.match(/../g) ?? [];
  return btoa(String.fromCharCode(...bytes.map((pair) => Number.parseInt(pair, 16))));
}
