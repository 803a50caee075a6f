// Drives one Firefox page over WebDriver BiDi for tests/e2e/firefox/browser.py.
// usage: node driver.mjs FIREFOX PROFILE PREFERENCES(JSON)
// One JSON object a line: {id, method, ...} comes in; {id, result | error} and {event, ...} go out.
import { createInterface } from "node:readline";
import puppeteer from "puppeteer-core";

const [executablePath, userDataDir, preferences] = process.argv.slice(2);
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

const browser = await puppeteer.launch({
  browser: "firefox", headless: true, executablePath, userDataDir,
  extraPrefsFirefox: JSON.parse(preferences), timeout: 120_000, protocolTimeout: 300_000,
});
const [page] = await browser.pages();
page.setDefaultTimeout(300_000);
page.on("console", (message) => say({ event: "console", type: message.type(), text: message.text() }));
page.on("pageerror", (error) => say({ event: "pageerror", text: String(error) }));
page.on("request", (request) => say({ event: "request", url: request.url() }));

const methods = {
  goto: async ({ url }) => void await page.goto(url),
  reload: async () => void await page.reload(),
  // As text: Firefox evaluates it as a debugger does, whatever the page's policy says of eval.
  evaluate: ({ source, argument }) => page.evaluate(`(${source})(${JSON.stringify(argument)})`),
  close: async () => void await browser.close(),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, ...fields } = JSON.parse(line);
  try {
    say({ id, result: (await methods[method](fields)) ?? null });
  } catch (error) {
    say({ id, error: String(error?.message ?? error) });
  }
  // The closed connection would keep this process waiting.
  if (method === "close") process.exit(0);
}
