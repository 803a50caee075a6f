"""Headless Chromium with WebGPU on its software adapter, driven by Playwright."""

from __future__ import annotations

from playwright.async_api import Browser, Playwright

# WebGPU is behind a flag on Linux; SwiftShader is Chromium's own software Vulkan. The rest keeps
# the browser from talking to anybody.
WEBGPU_FLAGS = ("--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader",
                "--enable-features=Vulkan")
QUIET_FLAGS = ("--no-sandbox", "--no-first-run", "--disable-quic", "--disable-sync",
               "--disable-background-networking", "--disable-component-update")


async def launch(playwright: Playwright, executable: str, *, webgpu: bool = True) -> Browser:
    """Starts Chromium without a window.

    Args:
        playwright: a started driver.
        executable: path of the browser.
        webgpu: False leaves WebGPU off, as in a browser that has none.
    """
    flags = [*QUIET_FLAGS, *(WEBGPU_FLAGS if webgpu else ())]
    return await playwright.chromium.launch(executable_path=executable, args=flags, headless=True)
