#!/usr/bin/env python3
"""Opens a page of `ridge diagnose --html` in headless Chromium and uses it: tabs, zoom, pan, click, search,
sorting, theme; reports console errors and, with --speed, the time to open and the frames per second of a pan.
Exit status: 0 all well, 1 something is wrong, 77 no browser or no selenium here."""
import re
import sys
import time

try:
    from selenium import webdriver
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.common.action_chains import ActionChains
except ImportError:
    print("selenium is not installed")
    sys.exit(77)


def start():
    import shutil
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not browser or not driver:
        print("chromium or chromedriver is not installed")
        sys.exit(77)
    o = webdriver.ChromeOptions()
    o.binary_location = browser
    for a in ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1500,1000", "--hide-scrollbars"]:
        o.add_argument(a)
    o.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=o, service=webdriver.ChromeService(driver))


def check(ok, what):
    if not ok:
        print("FAIL", what)
        check.bad += 1


check.bad = 0


def ridge_program(b, shot):
    """A Ridge program's page: a drawer for each kernel, source lines with their cost."""
    b.find_element(By.CSS_SELECTOR, "[data-tab=kernels]").click()
    b.find_elements(By.CSS_SELECTOR, "#kernels tbody tr")[0].click()
    panel = b.find_element(By.ID, "drawer")
    check(panel.is_displayed(), "a click on a kernel opens its drawer")
    told = b.execute_script("return ridge.K.every(k => k.graph)")
    for word in ["measured", "predicted", "roof", "Opts"] + (["Graph", "Source", "kernel ", "void "] if told else []):
        check(word in panel.text, f"the drawer says '{word}'")
    steps = b.execute_script("const k = ridge.K.find(k => ridge.STEPS[k.key]); if (k) ridge.drawer(k.name, ''); return k ? ridge.STEPS[k.key].length : 0")
    if steps:
        seen = []
        while True:
            seen.append(b.execute_script("return document.getElementById('which').selectedOptions[0].textContent"))
            if not b.find_element(By.ID, "on").is_enabled():
                break
            b.find_element(By.ID, "on").click()
        check(len(seen) == steps + 2 and seen[0] == "1 graph" and seen[-1].endswith(" source"), f"steps from graph to source: {seen}")
        check(any("linearize" in s for s in seen), f"passes by name: {seen}")
        b.find_element(By.ID, "back").click()
        check(len(b.find_elements(By.CSS_SELECTOR, "#passes pre b")) > 0, "lines that a step made are marked")
        b.execute_script("document.getElementById('passes').scrollIntoView()")
    shot("drawer")
    accessible(b)
    panel.find_elements(By.CSS_SELECTOR, ".go")[0].click()
    time.sleep(0.1)
    check(b.find_element(By.ID, "source").is_displayed(), "a call site leads to its line")
    check(len(b.find_elements(By.CSS_SELECTOR, "#source tr.asked button")) > 0, "the line unfolds into its kernels")
    b.find_element(By.ID, "shut").click()
    check(not panel.is_displayed(), "the drawer closes")
    b.find_elements(By.CSS_SELECTOR, "#source tr.asked button")[0].click()
    check(panel.is_displayed(), "a kernel of a line opens the drawer")
    ActionChains(b).send_keys(Keys.ESCAPE).perform()
    check(not panel.is_displayed(), "Escape closes it")
    shot("source")
    sums = b.execute_script("return [T.sources.reduce((s, f) => s + f.lines.reduce((t, l) => t + l[1], 0), 0), R.kernels.filter(k => k.where).reduce((s, k) => s + k.ns, 0)]")
    check(sums[0] == sums[1], f"lines sum to all kernels: {sums}")
    lines = not told or b.execute_script("return T.sources.some(f => f.found && f.lines.some(l => l[1] > 0 && l[5].includes('rg_')))")
    check(lines, "the text of a line that costs is there")


def kernel_details(b):
    """A kernel is found by its operator and by its line, and the one that is gone to says all about itself."""
    b.find_element(By.CSS_SELECTOR, "[data-tab=timeline]").click()
    box = b.find_element(By.ID, "search")
    k = b.execute_script("const k = ridge.R.kernels.find(k => k.op && k.where); return k ? [k.op, k.where, k.count] : null")
    if not k:
        return
    for word in (k[0], k[1]):
        box.clear()
        box.send_keys(word)
        time.sleep(0.3)
        check("kernels" in b.find_element(By.ID, "hits").text, f"search for '{word}' finds kernels: {b.find_element(By.ID, 'hits').text}")
        check(b.execute_script("return ridge.E.row[ridge.matches()[0]] > 0"), f"the first hit for '{word}' is a kernel")
        box.send_keys(Keys.ENTER)
        text = b.find_element(By.ID, "detail").text
        for part in ("of its roof", "each", k[1] if word == k[1] else k[0]):
            check(part in text, f"a kernel's details say '{part}': {text}")
    box.send_keys(Keys.ESCAPE)
    machine = b.execute_script("return ridge.T.machine.flops ? ridge.roofs().map(r => r[1] || r[2]) : null")
    if machine:
        check(machine[:2] == b.execute_script("return [ridge.T.machine.bytes, ridge.T.machine.flops]"), "the roofs are the machine's")
    check(b.execute_script("return ridge.T.ops.every(o => o[2] >= 0 && o[3] >= 0 && o[4] >= 0)"), "no operator has negative time")
    sums = b.execute_script("const s = (l, i) => l.reduce((x, r) => x + r[i], 0); return [s(ridge.T.ops, 4), s(ridge.T.lines, 2), ridge.R.kernels.reduce((x, k) => x + k.ns, 0)]")
    check(sums[0] == sums[1] == sums[2], f"operators and lines sum to all kernels: {sums}")


def compared(b):
    """Two recordings: opens on what differs; the parts sum to the change."""
    check(b.find_element(By.ID, "compare").is_displayed(), "it opens on the comparison")
    check(len(b.find_elements(By.CSS_SELECTOR, "#compare .side")) == 2, "a bar for each recording")
    check(len(b.find_elements(By.CSS_SELECTOR, "#byrow tbody tr")) == b.execute_script("return Math.min(200, ridge.C.rows.length)"), "a row for each kernel")
    off = b.execute_script("const C = ridge.C; return Object.values(C.budget).reduce((s, x) => s + x, 0) - C.delta_ns")
    check(off == 0, f"causes sum to the change, off by {off}")
    side = b.execute_script("return [0, 1].map(i => Object.values(ridge.C.budgets[i]).reduce((s, x) => s + x, 0) - [ridge.C.a, ridge.C.b][i].step_ns)")
    check(all(abs(x) < 40 for x in side), f"each side sums to its step, off by {side} ns")


def accessible(b):
    """axe-core, where axe-selenium-python is installed: nothing serious."""
    try:
        from axe_selenium_python import Axe
    except ImportError:
        return
    axe = Axe(b)
    axe.inject()
    for v in axe.run()["violations"]:
        check(v["impact"] not in ("serious", "critical"), f"axe: {v['id']}: {v['help']}: {v['nodes'][0]['html'][:160]}")


def main():
    path, shots, speed = sys.argv[1], None, "--speed" in sys.argv
    for a in sys.argv[2:]:
        if a.startswith("--shots="):
            shots = a[8:]
    b = start()
    b.set_page_load_timeout(120)
    t = time.time()
    b.get("file://" + path)
    opened = b.execute_script("return ridge.ready")
    events = b.execute_script("return ridge.E.n")
    print(f"opened {events} events: script ready at {opened / 1e3:.2f} s, wall {time.time() - t:.2f} s")
    if speed:
        check(opened <= 1000, "opens within 1 s")

    def shot(name):
        if shots:
            b.save_screenshot(f"{shots}/{name}.png")

    check(b.find_element(By.ID, "verdict").text != "", "a verdict on top")
    check(len(b.find_elements(By.CSS_SELECTOR, "#budget div")) > 0, "a budget bar")
    if b.execute_script("return !!ridge.C"):
        compared(b)
        shot("compare")
        accessible(b)
        b.find_element(By.CSS_SELECTOR, "[data-tab=advice]").click()
    check(b.find_element(By.ID, "advice").is_displayed(), "it opens on the answer")
    shot("answer")
    accessible(b)
    if events:
        jumps = b.find_elements(By.CSS_SELECTOR, "#advice .jump")
        if jumps:
            jumps[0].click()
            check(b.find_element(By.ID, "timeline").is_displayed(), "the first advice leads into the timeline")
        b.find_element(By.CSS_SELECTOR, "[data-tab=timeline]").click()
        ActionChains(b).send_keys("0").perform()
        cv = b.find_element(By.ID, "tl")
        shot("timeline")
        span = lambda: b.execute_script("return ridge.tl.b - ridge.tl.a")
        start_ = lambda: b.execute_script("return ridge.tl.a")
        s = span()
        body = b.find_element(By.TAG_NAME, "body")
        ActionChains(b).send_keys("w").perform()
        check(span() < s, "w zooms in")
        a = start_()
        ActionChains(b).send_keys("d").perform()
        check(start_() > a, "d pans right")
        ActionChains(b).send_keys("0").perform()
        ActionChains(b).scroll_from_origin(webdriver.common.actions.wheel_input.ScrollOrigin.from_element(cv, 200, 0), 0, -600).perform()
        check(span() < s, "the wheel zooms in")
        a = start_()
        ActionChains(b).move_to_element_with_offset(cv, 100, 0).click_and_hold().move_by_offset(-150, 0).release().perform()
        check(start_() > a, "dragging pans")
        ActionChains(b).send_keys("0").perform()
        time.sleep(0.2)
        # click the longest event of the first row
        x, y = b.execute_script("""const r = ridge.ROWS[0], E = ridge.E; let k = r.at;
            for (let i = r.at; i < r.at + r.n; i++) if (E.dur[i] > E.dur[k]) k = i;
            const c = document.getElementById('tl'), b = c.getBoundingClientRect(), t = ridge.tl;
            return [b.left + t.left + (E.t0[k] + E.dur[k] / 2 - t.a) / (t.b - t.a) * (c.clientWidth - t.left), b.top + r.y + 6]""")
        w = b.execute_script("return [innerWidth, innerHeight]")
        if y < w[1]:
            ActionChains(b).move_by_offset(0, 0).perform()
            act = ActionChains(b)
            act.w3c_actions.pointer_action.move_to_location(int(x), int(y))
            act.click().perform()
            check(b.find_element(By.ID, "detail").text != "", "a click shows details")
        if speed:
            fps = b.execute_async_script("""const done = arguments[0]; let n = 0; const t0 = performance.now(); ridge.tl.a -= 0;
                function tick() { ridge.pan(n % 60 < 30 ? 0.01 : -0.01); n++;
                  if (performance.now() - t0 < 3000) requestAnimationFrame(tick); else done([n / ((performance.now() - t0) / 1e3), ridge.drawn()]); }
                requestAnimationFrame(tick);""")
            print(f"pan over everything: {fps[0]:.1f} frames/s ({fps[1]} rectangles a frame)")
            check(fps[0] >= 30, "pans at 30 frames/s")
            ms = b.execute_script("const t = performance.now(); for (let i = 0; i < 20; i++) ridge.draw(); return (performance.now() - t) / 20")
            print(f"one draw: {ms:.1f} ms")
    box = b.find_element(By.ID, "search")
    b.execute_script("""window.drawn = []; const f = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function (s, ...a) { window.drawn.push(String(s)); return f.call(this, s, ...a); };""")
    for tab in ["kernels", "ops", "lines", "classes", "roofline", "memory", "advice"]:
        b.find_element(By.CSS_SELECTOR, f"[data-tab={tab}]").click()
        time.sleep(0.05)
        shot(tab)
        if tab == "memory":
            text = b.execute_script("return window.drawn.splice(0)")
            if b.execute_script("return T.memory.length > 1"):
                check(sum(x.endswith((" MB", " GB")) for x in text) >= 2, f"the memory chart has an axis of bytes: {text}")
                check(any(re.fullmatch(r"[0-9.]+ ?(s|ms|us|ns)", x) for x in text), f"the memory chart has an axis of time: {text}")
            kinds = b.execute_script("return T.heap.over.kinds")
            shown = [x.text for x in b.find_elements(By.CSS_SELECTOR, "#kinds .kind")]
            check(shown == kinds, f"a legend of the kinds of memory, found {shown}")
            off = b.execute_script("const O = T.heap.over; return O.bytes.filter((p, i) => p.reduce((a, x) => a + x, 0) !== T.memory[i][1]).length")
            check(off == 0, "kinds sum to what is held")
        if tab == "kernels" and b.find_elements(By.CSS_SELECTOR, "#kernels tbody tr"):
            rows = lambda: [r.text for r in b.find_elements(By.CSS_SELECTOR, "#kernels tbody tr")]
            before = rows()
            b.find_elements(By.CSS_SELECTOR, "#kernels th")[0].click()
            names = b.execute_script("return [...document.querySelectorAll('#kernels tbody tr td:first-child')].map(x => x.textContent)")
            check(names == sorted(names), "a click on a heading sorts")
            box.send_keys("zzzz-no-such-kernel")
            time.sleep(0.3)
            check(len(rows()) == 0, "search filters the table")
            box.send_keys(Keys.ESCAPE)
            time.sleep(0.2)
            check(len(rows()) == len(before), "escape clears the search")
    if events:
        b.find_element(By.CSS_SELECTOR, "[data-tab=timeline]").click()
        name = b.execute_script("return T.names[ridge.E.name[0]].slice(0, 12)")
        box.send_keys(name)
        time.sleep(0.4)
        check("hits" in b.find_element(By.ID, "hits").text and not b.find_element(By.ID, "hits").text.startswith("0"), "search finds events")
        box.send_keys(Keys.ENTER)
        check(b.execute_script("return ridge.tl.sel") >= 0, "enter goes to a hit")
        shot("search")
        box.send_keys(Keys.ESCAPE)
    if b.execute_script("return ridge.K.length"):
        kernel_details(b)
        ridge_program(b, shot)
    dark = b.execute_script("return document.documentElement.classList.contains('dark')")
    b.find_element(By.ID, "theme").click()
    check(dark != b.execute_script("return document.documentElement.classList.contains('dark')"), "the theme changes")
    time.sleep(0.1)
    shot("theme")
    for line in b.get_log("browser"):
        if line["level"] in ("SEVERE", "WARNING"):
            check(False, "console: " + line["message"][:200])
    b.quit()
    print("page ok" if not check.bad else f"{check.bad} checks failed")
    sys.exit(1 if check.bad else 0)


main()
