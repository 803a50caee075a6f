"""Firefox for the browser tests: one page, driven by puppeteer-core over WebDriver BiDi."""
