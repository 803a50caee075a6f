/** Numbers, sizes, times and losses as words. Pure. */

const THIN = "\u202f";
const UNITS = ["B", "KB", "MB", "GB", "TB"];

/**
 * A number with thin-space thousands: 842 496.
 * @param {number} value
 * @param {number} [digits] after the point
 */
export function number(value, digits = 0) {
  const [whole, fraction] = value.toFixed(digits).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, THIN);
  return fraction ? `${grouped}.${fraction}` : grouped;
}

/**
 * A number of parameters in words: 4596, 5.1 M, 135 M.
 * @param {number} count
 */
export function parameters(count) {
  if (count < 1e6) return number(count);
  return count < 1e9 ? `${number(count / 1e6, count < 1e7 ? 1 : 0)}${THIN}M`
    : `${number(count / 1e9, 1)}${THIN}B`;
}

/**
 * Bytes in decimal units: 48 MB.
 * @param {number} value
 */
export function bytes(value) {
  let size = value;
  let unit = 0;
  while (size >= 999.5 && unit < UNITS.length - 1) {
    size /= 1000;
    unit += 1;
  }
  const digits = unit > 0 && size < 9.95 ? 1 : 0;
  return `${number(size, digits)}${THIN}${UNITS[unit]}`;
}

/**
 * A step's time: 62 ms, 1.1 s.
 * @param {number} value milliseconds
 */
export function milliseconds(value) {
  if (value < 10) return `${number(value, 1)}${THIN}ms`;
  if (value < 995) return `${number(value)}${THIN}ms`;
  return `${number(value / 1000, 1)}${THIN}s`;
}

/**
 * A length of time in words: 40 s, 2 min, 1 h 20 min.
 * @param {number} seconds
 */
export function duration(seconds) {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))}${THIN}s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes}${THIN}min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours}${THIN}h ${minutes % 60}${THIN}min`;
  return `${Math.round(hours / 24)} days`;
}

/**
 * How long ago a moment was.
 * @param {number} moment seconds since 1970
 * @param {number} [now] milliseconds since 1970
 */
export function ago(moment, now = Date.now()) {
  const seconds = Math.max(0, now / 1000 - moment);
  if (seconds < 45) return "just now";
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return minutes === 1 ? "a minute ago" : `${minutes} minutes ago`;
  const hours = Math.round(minutes / 60);
  if (hours < 36) return hours === 1 ? "an hour ago" : `${hours} hours ago`;
  return `${Math.round(hours / 24)} days ago`;
}

/**
 * A loss with the digits that matter.
 * @param {number | null | undefined} value nats per byte
 */
export function loss(value) {
  if (value === null || value === undefined) return "\u2013";
  if (!Number.isFinite(value)) return String(value);
  return number(value, value < 0.1 ? 3 : 2);
}

/**
 * e to the loss: among how many equally likely bytes the model is choosing.
 * @param {number} value nats per byte
 */
export function choices(value) {
  const count = Math.exp(value);
  return count < 3 ? number(count, 1) : number(Math.round(count));
}

/**
 * A number for a table of limits and errors: 3.1e-7 stays short.
 * @param {number} value
 */
export function scientific(value) {
  if (value === 0) return "0";
  return Math.abs(value) < 0.01 ? value.toExponential(1) : number(value, 2);
}
