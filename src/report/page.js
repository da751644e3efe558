'use strict';
// The page of `ridge diagnose`: everything it shows is in the file; it asks nothing of the network.
const R = JSON.parse(document.getElementById('report').textContent);
const T = JSON.parse(document.getElementById('tables').textContent);
const K = JSON.parse(document.getElementById('codes').textContent).kernels.filter(k => k.key);
const C = JSON.parse(document.getElementById('comparison').textContent); // two recordings; null: one
const STEPS = JSON.parse(document.getElementById('compiled').textContent); // by key: what each pass made of a kernel
const $ = id => document.getElementById(id);
const ms = ns => (ns / 1e6).toFixed(ns < 1e7 ? 3 : 1) + ' ms';
const us = ns => ns >= 1e6 ? ms(ns) : (ns / 1e3).toFixed(2) + ' us';
const pct = x => (100 * x).toFixed(1) + '%';
const mb = b => b >= 1e9 ? (b / 1e9).toFixed(2) + ' GB' : (b / 1e6).toFixed(1) + ' MB';
const esc = s => String(s).replace(/[&<>"]/g, c => ({'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;'}[c]));
const COLOR = {'kernels': '#1f7a46', 'comm': '#8250c4', 'transfer.pageable': '#c2410c', 'transfer.exposed': '#a85a04', 'memset': '#5b6577',
  'host.dataloader': '#b91c5c', 'sync': '#a21caf', 'small_kernels': '#dc2626', 'dispatch': '#b8400f', 'host.user': '#8a5c0e',
  'compile': '#4a5cd0', 'plan': '#0b6f66', 'queued': '#5f6e84', 'dependency': '#64748b', 'profiler': '#475569', 'other': '#6b7280', 'unexplained': '#4b5563'};
const CLASS_COLOR = {gemm: '#2563eb', conv: '#0891b2', attention: '#7c3aed', norm: '#ca8a04', elementwise: '#2f9e5f', reduce: '#65a30d',
  layout: '#dc2626', copy: '#ea580c', comm: '#8250c4', other: '#6b7280'};

// ---- head ---------------------------------------------------------------------------------------------
function head() {
  document.title = R.verdict + ' - ' + T.file;
  $('head').textContent = [T.file, R.capture.format, R.device.name, R.capture.events + ' events',
    R.steps.length + ' steps'].filter(Boolean).join('  ·  ');
  const c = R.causes[0], steps = R.phases && R.phases.length;
  if (R.steady) { // of a Ridge program: what is judged
    $('verdict').textContent = (R.verdict === 'healthy' ? 'healthy' : R.verdict + (c && c.lost_ns ? ': ' + ms(c.lost_ns) + ' of ' + ms(R.steady.wall_ns) + (steps ? ' of steps' : '') + ' (' + pct(c.share) + ')' : '')) +
      '; in kernels ' + pct((R.steady.budget.kernels || 0) / Math.max(1, R.steady.wall_ns)) + ', at ' + pct(R.device.roof) + ' of their roof';
  } else $('verdict').textContent = R.verdict === 'healthy' ? 'healthy: ' + (R.capture.format === 'Ridge' ? '' : 'GPU ') + 'busy ' + pct(R.device.busy_ns / Math.max(1, R.wall_ns)) + ', regime ' + R.regime
    : R.verdict + (c && c.lost_ns ? ': ' + ms(c.lost_ns) + ' of ' + ms(R.wall_ns) + ' lost (' + pct(c.share) + ')' : '') + ', regime ' + R.regime;
  const of = R.steady || R, wall = of.wall_ns;
  for (const k in of.budget) {
    const v = of.budget[k];
    if (!v || !wall) continue;
    const d = document.createElement('div');
    d.style.width = 100 * v / wall + '%';
    d.style.background = COLOR[k] || '#888';
    d.title = T.budget_text[k] + ': ' + ms(v) + ' (' + pct(v / wall) + ')';
    if (v / wall > 0.08) d.textContent = k + ' ' + pct(v / wall);
    $('budget').append(d);
    if (v / wall >= 0.002) {
      const s = document.createElement('span');
      s.innerHTML = '<i style="background:' + (COLOR[k] || '#888') + '"></i>' + esc(T.budget_text[k]) + ' ' + pct(v / wall);
      $('legend').append(s);
    }
  }
  $('budget').setAttribute('aria-label', $('legend').textContent);
}

// What repeats, program by program, and what start-up took.
function phases() {
  if (!R.phases || !R.phases.length) return '';
  const row = (what, p) => '<tr><td>' + esc(what) + '</td><td class="n">' + (p.steps || '') + '</td><td class="n">' + (p.steps ? ms(p.median_ns) : '') + '</td><td class="n">' + ms(p.wall_ns) + '</td><td class="n">' + pct((p.budget.kernels || 0) / Math.max(1, p.wall_ns)) +
    '</td><td class="n">' + (p.best_ns ? (p.wall_ns / p.best_ns).toFixed(1) + 'x' : '') + '</td><td>' + Object.entries(p.budget).filter(b => b[0] !== 'kernels' && b[1] * 50 > p.wall_ns).sort((a, b) => b[1] - a[1]).map(b => esc(T.budget_text[b[0]] + ' ' + pct(b[1] / p.wall_ns))).join(', ') + '</td></tr>';
  return '<h3>Steps and start-up</h3><table id="phases"><thead><tr><th scope="col">program</th><th scope="col" class="n">steps</th><th scope="col" class="n">median</th><th scope="col" class="n">in all</th><th scope="col" class="n">in kernels</th><th scope="col" class="n">of its best</th><th scope="col">besides</th></tr></thead><tbody>' +
    R.phases.map(p => row(p.where || '(no line)', p)).join('') + row('start-up', R.startup) + '</tbody></table>';
}

function advice() {
  let h = '';
  R.causes.forEach((c, i) => {
    const e = c.evidence || {};
    h += '<div class="card"><span class="num">' + (c.note ? 'note' : c.lost_ns ? 'up to ' + ms(c.gain_ceiling_ns) + ' (' + pct(c.gain_ceiling_ns / (R.steady || R).wall_ns) + ')' : '') +
      '</span><h3>' + (i + 1) + '. ' + esc(c.id) + '</h3><div>' + esc(c.signal) + '</div>' +
      (c.where ? '<div>at <code>' + esc(c.where) + '</code></div>' : '') + '<div class="fix">&rarr; ' + esc(c.fix) + '</div>' +
      (e.before ? '<div class="note">before it: ' + esc(e.before) + '</div>' : '') + (e.bound ? '<div class="note">at most: ' + esc(e.bound) + '</div>' : '') + (e.confirm ? '<div class="note">confirm: ' + esc(e.confirm) + '</div>' : '') +
      (T.events && c.lost_ns ? '<button class="jump" data-cause="' + i + '">show it in the timeline</button>' : '') + '</div>';
  });
  if (!h) h = '<div class="card"><h3>Nothing to do</h3>No cause costs 2 % of the wall time.</div>';
  for (const n of R.capture.problems) h += '<div class="note">capture: ' + esc(n.why) + ' &rarr; <code>' + esc(n.setting) + '</code></div>';
  for (const n of R.abstained) h += '<div class="note">cannot judge ' + esc(n.id) + ': ' + esc(n.why) + '</div>';
  if (R.checklist && R.checklist.length) h += '<h3>Checklist</h3><table id="checks"><tbody>' + R.checklist.map(c => '<tr><td>' + (c.fine ? 'ok' : '<b>look</b>') + '</td><td>' + esc(c.id) + '</td><td>' + esc(c.answer) + '</td></tr>').join('') + '</tbody></table>';
  $('advice').innerHTML = phases() + h;
}
// The longest time that a cause has: idle of that kind, else the dearest kernel at its line.
function jump(c) {
  const kind = T.causes.indexOf(c.id), spans = T.idle.filter(p => p[2] === kind), line = c.where.split(',')[0];
  let best = spans.sort((x, y) => (y[1] - y[0]) - (x[1] - x[0]))[0], sel = -1;
  if (!best) for (let i = 0; i < E.n; i++) { const k = E.row[i] && R.kernels[E.row[i] - 1]; if (k && (k.where === line || c.signal.includes(k.name)) && (sel < 0 || E.dur[i] > E.dur[sel])) sel = i; }
  open('timeline');
  if (best) { const w = (best[1] - best[0]) * 3 + 50, m = (best[0] + best[1]) / 2; tl.a = m - w / 2; tl.b = m + w / 2; clampView(); redraw(); } else if (sel >= 0) show(sel, true);
}
$('advice').addEventListener('click', e => { const b = e.target.closest('.jump'); if (b) jump(R.causes[+b.dataset.cause]); });

// ---- tables -------------------------------------------------------------------------------------------
// cols: [title, value(row), text(row) or null for a plain string]
function table(id, rows, cols, start, pick) {
  const box = $(id);
  let by = start, up = false, shown = [];
  const draw = () => {
    const q = $('search').value.toLowerCase();
    shown = rows.filter(r => !q || cols.some(c => String(c[1](r)).toLowerCase().includes(q)));
    const v = cols[by][1];
    shown.sort((a, b) => { const x = v(a), y = v(b); return (x < y ? -1 : x > y ? 1 : 0) * (up ? 1 : -1); });
    let h = '<div class="scroll" tabindex="0"><table><thead><tr>';
    cols.forEach((c, i) => h += '<th scope="col" tabindex="0" aria-sort="' + (i !== by ? 'none' : up ? 'ascending' : 'descending') + '" class="' + (c[2] ? 'n' : '') + '" data-i="' + i + '">' + esc(c[0]) + (i === by ? (up ? ' ▲' : ' ▼') : '') + '</th>');
    h += '</tr></thead><tbody>';
    for (const [i, r] of shown.slice(0, 2000).entries()) {
      h += '<tr data-r="' + i + '"' + (pick ? ' tabindex="0"' : '') + '>';
      for (const c of cols) h += c[2] ? '<td class="n">' + esc(c[2](r)) + '</td>' : '<td class="name' + (String(c[1](r)).length < 16 ? ' short' : '') + '">' + esc(c[1](r)) + '</td>';
      h += '</tr>';
    }
    box.innerHTML = h + '</tbody></table></div>';
    if (box.classList.contains('on')) $('hits').textContent = shown.length + ' rows';
  };
  box.addEventListener('keydown', e => { if (e.key === 'Enter' && e.target.matches('th, tr')) e.target.click(); });
  box.addEventListener('click', e => {
    const th = e.target.closest('th'), tr = e.target.closest('tr[data-r]');
    if (tr && pick) pick(shown[+tr.dataset.r]);
    if (!th) return;
    const i = +th.dataset.i;
    if (i === by) up = !up; else { by = i; up = !cols[i][2]; }
    draw();
  });
  return draw;
}
const kernelTime = R.kernels.reduce((s, k) => s + k.ns, 0) || 1;
const drawTable = {
  kernels: table('kernels', R.kernels, [['kernel', k => k.name], ['class', k => k.class], ['operator', k => k.op], ['line', k => k.where],
    ['count', k => k.count, k => k.count], ['time', k => k.ns, k => ms(k.ns)], ['share', k => k.ns, k => pct(k.ns / kernelTime)],
    ['each', k => k.ns / k.count, k => us(k.ns / k.count)], ['bound', k => k.bound], ['of roof', k => k.roof || 0, k => k.modelled ? pct(k.roof) : '-'],
    ['occupancy', k => k.occupancy || 0, k => k.occupancy !== undefined ? pct(k.occupancy) : '-'], ['limiter', k => k.limiter || '']], 5,
    k => drawer(k.full_name || k.name, k.where)),
  ops: table('ops', T.ops, [['operator', o => o[0]], ['calls', o => o[1], o => o[1]], ['host', o => o[2], o => ms(o[2])], ['host self', o => o[3], o => ms(o[3])],
    ['device', o => o[4], o => ms(o[4])], ['idle it caused', o => o[5], o => ms(o[5])]], 5),
  lines: table('lines', T.lines, [['line', l => l[0]], ['kernels', l => l[1], l => l[1]], ['device', l => l[2], l => ms(l[2])], ['idle it caused', l => l[3], l => ms(l[3])]], 2),
  classes: table('classes', Object.entries(R.classes), [['class', c => c[0]], ['kernels', c => c[1].count, c => c[1].count], ['time', c => c[1].ns, c => ms(c[1].ns)],
    ['% of time', c => c[1].time_share, c => pct(c[1].time_share)], ['% of FLOPs', c => c[1].flops_share, c => pct(c[1].flops_share)],
    ['rate, matmul = 1', c => c[1].rate_vs_gemm, c => c[1].rate_vs_gemm ? c[1].rate_vs_gemm.toPrecision(3) : '-']], 2),
};

// ---- a Ridge program: a drawer for each kernel, the user's source with its cost ---------------------------
// Codes of that name; the one that the line asked for first.
const codesOf = (name, where) => K.filter(k => k.name === name).sort((a, b) => b.lines.some(p => p[0] === where) - a.lines.some(p => p[0] === where) || b.ns - a.ns);
function drawer(name, where) {
  const list = codesOf(name, where), k = list[0];
  $('drawer').classList.toggle('on', !!k);
  if (!k) return;
  const each = k.ns / k.calls, bars = [['measured', each], ['predicted', k.predicted_ns / k.calls], ['roof', k.roof_ns / k.calls]].filter(b => b[1] > 0);
  const most = Math.max(...bars.map(b => b[1]));
  let h = '<button id="shut" title="close (Escape)">&times;</button><h2>' + esc(k.name) + '</h2><div class="note">' + esc(k.class) + ' &middot; ' + k.calls + ' calls &middot; ' + ms(k.ns) +
    ' &middot; ' + (k.flops / k.ns).toFixed(1) + ' GFLOPS &middot; ' + (k.bytes / k.ns).toFixed(1) + ' GB/s &middot; key ' + esc(k.key.slice(0, 12)) + '</div><table>';
  for (const [what, ns] of bars) h += '<tr><td>' + what + '</td><td class="n">' + us(ns) + '</td><td><i class="bar" style="width:' + 100 * ns / most + '%"></i></td></tr>';
  h += '</table>';
  if (k.roof) h += '<div>' + pct(k.roof) + ' of its roof, which is set by ' + esc(k.bound) + (k.predicted_ns ? '; ' + (k.ns / k.predicted_ns).toFixed(2) + ' times what was predicted' : '') + '</div>';
  const units = Object.entries(k.units_ns).sort((a, b) => b[1] - a[1]), longest = units.length && units[0][1];
  if (units.length) h += '<h3>What each unit of the machine needs for a call</h3><table>' + units.map(u => '<tr><td>' + esc(u[0]) + '</td><td class="n">' + us(u[1]) + '</td><td><i class="bar" style="width:' + 100 * u[1] / longest + '%"></i></td></tr>').join('') + '</table>';
  h += '<h3>Places</h3><table>';
  for (const p of k.lines) h += '<tr class="go" data-line="' + esc(p[0]) + '"><td>' + esc(p[0]) + '</td><td>' + esc(p[1] + (p[2] ? ' in ' + p[2] : '')) + '</td><td class="n">x' + p[3] + '</td><td class="n">' + us(p[4] / p[3]) + '</td></tr>';
  h += '</table><h3>Opts</h3><pre>' + esc(k.opts || 'none') + '</pre>';
  if (STEPS[k.key]) h += '<h3>From graph to code</h3><div id="passes"></div>';
  if (k.graph) h += '<h3>Graph</h3><pre>' + esc(k.graph) + '</pre>';
  if (k.source) h += '<h3>Source</h3><pre>' + esc(k.source) + '</pre>';
  if (list.length > 1) h += '<div class="note">' + (list.length - 1) + ' other kernels have this name</div>';
  $('drawer').innerHTML = h;
  $('drawer').scrollTop = 0;
  if (STEPS[k.key]) drawStep(k, 0);
}
// The compiler's steps, one at a time: the graph, the IR after each pass that changed it, the source. Lines that the step made are marked.
function drawStep(k, i) {
  const all = [['graph', k.graph], ...STEPS[k.key], ['source', k.source]].filter(s => s[1]), n = all.length, at = Math.max(0, Math.min(n - 1, i));
  const before = new Set(at ? all[at - 1][1].split('\n') : []), now = all[at][1].split('\n'), fresh = now.filter(l => !before.has(l)).length;
  $('passes').innerHTML = '<button id="back" aria-label="step before"' + (at ? '' : ' disabled') + '>&larr;</button> <select id="which" aria-label="step of the compiler">' +
    all.map((s, j) => '<option value="' + j + '"' + (j === at ? ' selected' : '') + '>' + (j + 1) + ' ' + esc(s[0]) + '</option>').join('') + '</select> <button id="on" aria-label="next step"' + (at < n - 1 ? '' : ' disabled') + '>&rarr;</button> <span class="note">' +
    (at ? fresh + ' of ' + now.length + ' lines are new' : now.length + ' lines') + '</span><pre tabindex="0">' + now.map(l => at && !before.has(l) ? '<b>' + esc(l) + '</b>' : esc(l)).join('\n') + '</pre>';
  $('back').onclick = () => drawStep(k, at - 1); $('on').onclick = () => drawStep(k, at + 1); $('which').onchange = e => drawStep(k, +e.target.value);
}
$('drawer').addEventListener('click', e => {
  const go = e.target.closest('.go');
  if (e.target.id === 'shut') $('drawer').classList.remove('on');
  if (go) showLine(go.dataset.line);
});
addEventListener('keydown', e => { if (e.key === 'Escape') $('drawer').classList.remove('on'); });
function drawSource() {
  const sum = f => f.lines.reduce((s, l) => s + l[1] + l[2], 0), files = [...T.sources].sort((a, b) => sum(b) - sum(a));
  let h = files.length ? '' : '<div class="note">no lines were recorded: this is no profile of a Ridge program</div>';
  const most = Math.max(1, ...files.map(f => Math.max(...f.lines.map(l => l[1] + l[2]))));
  for (const f of files) {
    h += '<h3>' + esc(f.path || f.name) + (f.found ? '' : ' <span class="note">is not here: only line numbers are known</span>') + '</h3><div class="scroll"><table class="src"><thead><tr><th class="n">kernels</th><th class="n">host</th><th></th><th class="n">line</th><th></th></tr></thead><tbody>';
    let last = 0;
    for (const [n, kernel, host, , calls, text] of f.lines) {
      const loc = f.name + ':' + n, cost = kernel + host;
      if (last && n > last + 1) h += '<tr class="cut"><td colspan="5">&hellip;</td></tr>';
      last = n;
      h += '<tr' + (calls || cost ? ' class="hot" data-line="' + esc(loc) + '"' : '') + '><td class="n">' + (kernel ? ms(kernel) : '') + '</td><td class="n">' + (host ? ms(host) : '') + '</td><td class="share"><i class="bar" style="width:' + 100 * cost / most +
        '%"></i></td><td class="n">' + n + '</td><td><code>' + esc(text === null ? '' : text) + '</code></td></tr>';
    }
    h += '</tbody></table></div>';
  }
  $('source').innerHTML = h;
}
// A line that is clicked unfolds into the kernels it asked for.
function unfold(tr) {
  const old = tr.nextElementSibling;
  if (old && old.classList.contains('asked')) { old.remove(); return; }
  const rows = R.kernels.filter(k => k.where === tr.dataset.line);
  const row = document.createElement('tr');
  row.className = 'asked';
  row.innerHTML = '<td colspan="5">' + (rows.map(k => '<button data-kernel="' + esc(k.full_name || k.name) + '">' + esc(k.name) + ' x' + k.count + ' ' + ms(k.ns) + (k.modelled ? ', ' + pct(k.roof) + ' of roof' : '') + '</button>').join(' ') || 'no kernel names this line first') + '</td>';
  tr.after(row);
}
function showLine(loc) {
  open('source');
  const tr = [...document.querySelectorAll('#source tr.hot')].find(x => x.dataset.line === loc);
  if (tr) { tr.scrollIntoView({block: 'center'}); unfold(tr); }
}
$('source').addEventListener('click', e => {
  const b = e.target.closest('[data-kernel]'), tr = e.target.closest('tr.hot');
  if (b) drawer(b.dataset.kernel, b.closest('tr').previousElementSibling.dataset.line); else if (tr) unfold(tr);
});

// ---- events -------------------------------------------------------------------------------------------
// Rows (a lane at one depth) hold disjoint events in order: start, length (ns), name.
// Decoded when first asked for, at the latest when the page has been shown: the answer does not wait for them.
const E = {n: T.events};
function decode() {
  const s = $('events').textContent;
  let b;
  if (Uint8Array.fromBase64) b = Uint8Array.fromBase64(s);
  else { const bin = atob(s); b = new Uint8Array(bin.length); for (let i = 0; i < b.length; i++) b[i] = bin.charCodeAt(i); }
  $('events').remove();
  const n = E.n, d = b.buffer;
  for (const [key, type, at] of [['t0', Float64Array, 0], ['dur', Float32Array, 8], ['name', Uint32Array, 12], ['row', Uint32Array, 16]])
    Object.defineProperty(E, key, {value: new type(d, at * n, n)});
}
for (const key of ['t0', 'dur', 'name', 'row']) Object.defineProperty(E, key, {configurable: true, get() { decode(); return E[key]; }});
const N = T.names, ROWS = T.rows;
const hue = N.map(s => { let h = 0; for (let i = 0; i < Math.min(s.length, 60); i++) h = (h * 31 + s.charCodeAt(i)) >>> 0; return h % 360; });
const fill = hue.map(h => 'hsl(' + h + ' 52% 52%)');
let match = null, hit = null, matches = [], cursor = -1;
const isHit = i => match[E.name[i]] || (E.row[i] > 0 && hit[E.row[i] - 1]);

const tl = {a: T.w0, b: T.w1, sel: -1, y: 0, row: 15, left: 150};
if (tl.b <= tl.a) tl.b = tl.a + 1;
if (T.recorded.length > 1) [tl.a, tl.b] = T.recorded[0]; // the rest is a pan away
{ const pad = (tl.b - tl.a) * 0.01; tl.a -= pad; tl.b += pad; }
const cv = $('tl'), ctx = cv.getContext('2d', {alpha: false});
const css = v => getComputedStyle(document.documentElement).getPropertyValue(v).trim();
let theme = {};
function readTheme() { theme = {bg: css('--bg'), fg: css('--fg'), dim: css('--dim'), line: css('--line'), panel: css('--panel')}; }

// First event of a row that ends after t.
function first(r, t) {
  let lo = r.at, hi = r.at + r.n;
  while (lo < hi) { const m = (lo + hi) >> 1; if (E.t0[m] + E.dur[m] <= t) lo = m + 1; else hi = m; }
  return lo;
}
function firstStart(r, t, lo) {
  let hi = r.at + r.n;
  let step = 1;
  while (lo + step < hi && E.t0[lo + step] < t) { lo += step; step *= 2; } // gallop: neighbours first
  hi = Math.min(hi, lo + step);
  while (lo < hi) { const m = (lo + hi) >> 1; if (E.t0[m] < t) lo = m + 1; else hi = m; }
  return lo;
}

function layout() {
  let y = R.steps.length ? 64 : 46;
  for (const r of ROWS) { if (r.depth === 0) y += 6; r.y = y; y += tl.row + 1; }
  tl.height = y + 8 + (T.memory.length ? 60 : 0);
  return tl.height;
}
function resize(c, h) {
  const dpr = window.devicePixelRatio || 1, w = c.clientWidth;
  if (c.width !== Math.round(w * dpr) || c.height !== Math.round(h * dpr)) {
    c.style.height = h + 'px'; c.width = Math.round(w * dpr); c.height = Math.round(h * dpr);
  }
  c.getContext('2d').setTransform(dpr, 0, 0, dpr, 0, 0);
  return w;
}
function niceStep(x) { const p = Math.pow(10, Math.floor(Math.log10(x))); for (const m of [1, 2, 5, 10]) if (p * m >= x) return p * m; return p * 10; }
function timeText(ns, step) { return step >= 1e6 ? (ns / 1e6).toFixed(step >= 1e7 ? 0 : 1) + ' ms' : step >= 1e3 ? (ns / 1e3).toFixed(step >= 1e4 ? 0 : 1) + ' us' : ns.toFixed(0) + ' ns'; }

let frames = 0, drawn = 0;
function drawTimeline() {
  const w = resize(cv, layout()), L = tl.left, px = (w - L) / (tl.b - tl.a), per = 1 / px;
  ctx.fillStyle = theme.bg; ctx.fillRect(0, 0, w, tl.height);
  ctx.font = '11px system-ui,sans-serif'; ctx.textBaseline = 'middle';
  const step = niceStep((tl.b - tl.a) / (w - L) * 110);
  ctx.strokeStyle = theme.line; ctx.fillStyle = theme.dim; ctx.beginPath();
  for (let t = Math.ceil(tl.a / step) * step; t < tl.b; t += step) {
    const x = Math.round(L + (t - tl.a) * px) + 0.5;
    ctx.moveTo(x, 16); ctx.lineTo(x, tl.height); ctx.fillText(timeText(t, step), x + 3, 9);
  }
  ctx.stroke();
  drawn = 0;
  // causes of idle time, on top
  const C = T.idle;
  { let lo = 0, hi = C.length;
    while (lo < hi) { const m = (lo + hi) >> 1; if (C[m][1] <= tl.a) lo = m + 1; else hi = m; }
    let last = -1;
    for (let i = lo; i < C.length && C[i][0] < tl.b; i++) {
      const x = L + (C[i][0] - tl.a) * px, e = L + (C[i][1] - tl.a) * px;
      if (e < last + 1) continue;
      ctx.fillStyle = COLOR[T.causes[C[i][2]]] || '#888';
      ctx.fillRect(Math.max(L, x), 20, Math.max(1, e - Math.max(L, x)), 16);
      last = e;
    } }
  for (const r of ROWS) {
    let i = first(r, tl.a);
    const y = r.y, hgt = tl.row, end = r.at + r.n;
    let color = '';
    while (i < end && E.t0[i] < tl.b) {
      const x0 = L + (E.t0[i] - tl.a) * px, x1 = x0 + E.dur[i] * px, k = E.name[i];
      const dim = match && !isHit(i);
      const a = x0 < L ? L : x0, wdt = Math.max(x1 - a, 0.6);
      const c = dim ? theme.panel : fill[k];
      if (c !== color) ctx.fillStyle = color = c;
      ctx.fillRect(a, y, wdt, hgt);
      drawn++;
      if (wdt > 40 && !dim) {
        ctx.fillStyle = '#fff'; color = '';
        const chars = Math.floor((wdt - 6) / 6), s = N[k];
        ctx.fillText(s.length > chars ? s.slice(0, chars) : s, a + 3, y + hgt / 2);
      }
      if (i === tl.sel) { ctx.strokeStyle = theme.fg; ctx.lineWidth = 2; ctx.strokeRect(a + 1, y + 1, Math.max(2, wdt - 2), hgt - 2); ctx.lineWidth = 1; }
      // What begins within this pixel would be drawn over it; only the last of them can reach beyond it: go there.
      const next = x1 - x0 >= 1 ? i + 1 : firstStart(r, E.t0[i] + Math.max(per, E.dur[i]), i + 1);
      i = next - 1 > i ? next - 1 : next;
    }
  }
  drawSteps(w, L, px);
  drawUnrecorded(w, L, px);
  ctx.fillStyle = theme.bg; ctx.fillRect(0, 0, L, tl.height);
  ctx.fillStyle = theme.dim; ctx.fillText('idle, by cause', 6, 28);
  if (R.steps.length) ctx.fillText('steps', 6, 46);
  ctx.fillStyle = theme.fg;
  for (const r of ROWS) if (r.depth === 0) ctx.fillText(r.name.length > 24 ? r.name.slice(0, 23) + '…' : r.name, 6, r.y + tl.row / 2);
  drawMemoryTrack(w, L, px);
  frames++;
}
const PROGRAMS = [...new Set(R.steps.map(s => s.where || s.name))];
function drawSteps(w, L, px) {
  let last = -1;
  for (const [i, s] of R.steps.entries()) {
    const x = L + (s.start_ns - tl.a) * px, e = x + s.host_ns * px;
    if (e < L || x > w || e < last + 1) continue;
    ctx.fillStyle = s.startup ? '#94a3b8' : ['#2563eb', '#0f766e', '#7c3aed', '#b45309'][PROGRAMS.indexOf(s.where || s.name) % 4];
    ctx.fillRect(Math.max(L, x), 40, Math.max(1, e - Math.max(L, x) - 1), 12);
    if (e - x > 50) { ctx.fillStyle = '#fff'; ctx.fillText((i + 1) + ' ' + (s.where || '') + ' ' + ms(s.host_ns), Math.max(L, x) + 3, 46, e - Math.max(L, x) - 6); }
    last = e;
  }
}
// Time in which the schedule recorded nothing is not empty: it is not known.
function drawUnrecorded(w, L, px) {
  let at = tl.a;
  const grey = (a, b) => {
    const x = Math.max(L, L + (a - tl.a) * px), e = Math.min(w, L + (b - tl.a) * px);
    if (e - x < 1) return;
    ctx.fillStyle = theme.panel; ctx.fillRect(x, 18, e - x, tl.height - 18);
    if (e - x > 90) { ctx.fillStyle = theme.dim; ctx.fillText('not recorded', x + 6, 58); }
  };
  if (T.recorded.length < 2) return;
  for (const [a, b] of T.recorded) { if (a > at) grey(at, a); at = Math.max(at, b); }
}
function drawMemoryTrack(w, L, px) {
  if (!T.memory.length) return;
  const top = tl.height - 58, h = 50, peak = R.memory.peak_bytes || 1;
  ctx.fillStyle = theme.dim; ctx.fillText('memory ' + mb(peak), 6, top + 10);
  ctx.fillStyle = '#0e7490'; ctx.beginPath();
  let y = top + h, begun = false;
  for (const [t, b] of T.memory) {
    const x = Math.min(w, Math.max(L, L + (t - tl.a) * px));
    if (!begun) { ctx.moveTo(x, top + h); begun = true; }
    ctx.lineTo(x, y); y = top + h - h * b / peak; ctx.lineTo(x, y);
  }
  ctx.lineTo(w, y); ctx.lineTo(w, top + h); ctx.fill();
}

let asked = false;
function redraw() { if (!asked) { asked = true; requestAnimationFrame(() => { asked = false; if ($('timeline').classList.contains('on')) drawTimeline(); }); } }
function clampView() {
  const span = T.w1 - T.w0 || 1, min = 20;
  if (tl.b - tl.a < min) { const m = (tl.a + tl.b) / 2; tl.a = m - min / 2; tl.b = m + min / 2; }
  if (tl.b - tl.a > span * 4) { const m = (T.w0 + T.w1) / 2; tl.a = m - 2 * span; tl.b = m + 2 * span; }
}
function zoom(f, at) { const c = at === undefined ? (tl.a + tl.b) / 2 : at; tl.a = c - (c - tl.a) * f; tl.b = c + (tl.b - c) * f; clampView(); redraw(); }
function pan(f) { const d = (tl.b - tl.a) * f; tl.a += d; tl.b += d; redraw(); }
function show(i, fit) {
  tl.sel = i;
  if (i < 0) { $('detail').textContent = ''; redraw(); return; }
  const s = E.t0[i], e = s + E.dur[i];
  if (fit || s < tl.a || e > tl.b) { const w = fit ? Math.max(E.dur[i] * 3, 50) : tl.b - tl.a, m = (s + e) / 2; tl.a = m - w / 2; tl.b = m + w / 2; clampView(); }
  const r = ROWS.find(x => i >= x.at && i < x.at + x.n);
  if (codesOf(N[E.name[i]]).length) { $('drawer').classList.contains('on') && drawer(N[E.name[i]]); }
  const k = E.row[i] ? R.kernels[E.row[i] - 1] : null;
  $('detail').textContent = N[E.name[i]] + '\n' + us(E.dur[i]) + '  from ' + us(s) + '  on ' + r.lane + (r.kind ? '  (' + r.kind + ')' : '') + (k ? '\n' + kernelText(k) : '');
  if (k && codesOf(k.full_name).length) $('detail').insertAdjacentHTML('beforeend', '\n<button id="more">graph, opts, source (k)</button>');
  redraw();
}
// All that is known of a kernel: who asked for it, its launches, roof and occupancy.
function kernelText(k) {
  const each = k.ns / k.count, out = [];
  out.push([k.op, k.where && 'at ' + k.where, k.class].filter(Boolean).join('  ') + '  x' + k.count + ', ' + us(each) + ' each (' + us(k.min_ns) + ' to ' + us(k.max_ns) + '), ' + pct(k.ns / kernelTime) + ' of kernel time');
  if (k.modelled) out.push((k.flops / each).toFixed(1) + ' GFLOP/s, ' + (k.bytes / each).toFixed(1) + ' GB/s, ' + pct(k.roof) + ' of its roof, bound: ' + k.bound);
  if (k.mnk) out.push('M ' + k.mnk[0] + ', N ' + k.mnk[1] + ', K ' + k.mnk[2] + ', batch ' + k.mnk[3]);
  if (k.occupancy !== undefined) out.push('occupancy ' + pct(k.occupancy) + ', limited by ' + k.limiter);
  return out.join('\n');
}
$('detail').addEventListener('click', e => { if (e.target.id === 'more' && tl.sel >= 0) { const k = R.kernels[E.row[tl.sel] - 1]; drawer(k.full_name, k.where); } });
function timeAt(x) { return tl.a + (x - tl.left) / (cv.clientWidth - tl.left) * (tl.b - tl.a); }
function eventAt(x, y) {
  const t = timeAt(x), slack = (tl.b - tl.a) / cv.clientWidth * 2;
  for (const r of ROWS) if (y >= r.y && y < r.y + tl.row) { const i = first(r, t - slack); return i < r.at + r.n && E.t0[i] <= t + slack ? i : -1; }
  return -1;
}
cv.addEventListener('wheel', e => { e.preventDefault(); const r = cv.getBoundingClientRect();
  if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) pan(e.deltaX / 800); else zoom(Math.pow(1.0015, e.deltaY), timeAt(e.clientX - r.left)); }, {passive: false});
let drag = null;
cv.addEventListener('pointerdown', e => { drag = {x: e.clientX, a: tl.a, b: tl.b, moved: false}; cv.setPointerCapture(e.pointerId); cv.focus(); });
cv.addEventListener('pointermove', e => {
  const r = cv.getBoundingClientRect();
  if (drag) {
    const d = (e.clientX - drag.x) / (cv.clientWidth - tl.left) * (drag.b - drag.a);
    if (Math.abs(e.clientX - drag.x) > 3) drag.moved = true;
    if (drag.moved) { tl.a = drag.a - d; tl.b = drag.b - d; redraw(); }
    return;
  }
  const i = eventAt(e.clientX - r.left, e.clientY - r.top), tip = $('tip');
  if (i < 0) { tip.style.display = 'none'; return; }
  tip.style.display = 'block';
  tip.style.left = Math.min(e.clientX + 14, innerWidth - 300) + 'px'; tip.style.top = e.clientY + 14 + 'px';
  tip.textContent = N[E.name[i]].slice(0, 300) + '  ' + us(E.dur[i]);
});
cv.addEventListener('pointerup', e => { const r = cv.getBoundingClientRect(); if (drag && !drag.moved) show(eventAt(e.clientX - r.left, e.clientY - r.top)); drag = null; });
cv.addEventListener('pointerleave', () => $('tip').style.display = 'none');

// ---- search -------------------------------------------------------------------------------------------
function find(q) {
  q = q.toLowerCase(); matches = []; cursor = -1;
  if (!q) { match = null; $('hits').textContent = ''; redraw(); return; }
  match = N.map(s => s.toLowerCase().includes(q));
  hit = R.kernels.map(k => [k.full_name, k.op, k.where, k.class].some(s => s && s.toLowerCase().includes(q))); // by operator and line, too
  let kernels = 0, ns = 0;
  for (const r of [...ROWS].sort((x, y) => (y.kind === 'device') - (x.kind === 'device'))) // kernels before what the host did around them
    for (let i = r.at; i < r.at + r.n && matches.length < 200000; i++) if (isHit(i)) { matches.push(i); if (E.row[i]) { kernels++; ns += E.dur[i]; } }
  $('hits').textContent = matches.length + ' hits' + (kernels ? ': ' + kernels + ' kernels, ' + ms(ns) : '');
  redraw();
}
function next(d) { if (matches.length) { cursor = (cursor + d + matches.length) % matches.length; show(matches[cursor], E.row[matches[cursor]] > 0); $('hits').textContent = (cursor + 1) + ' of ' + matches.length; } }
let pending = 0;
$('search').addEventListener('input', () => { clearTimeout(pending); pending = setTimeout(() => { find($('search').value); if (drawTable[tab]) drawTable[tab](); }, 60); });
$('search').addEventListener('keydown', e => { if (e.key === 'Enter') { next(e.shiftKey ? -1 : 1); if (tab === 'timeline') cv.focus(); } if (e.key === 'Escape') { e.target.value = ''; find(''); e.target.blur(); if (drawTable[tab]) drawTable[tab](); } });
addEventListener('keydown', e => {
  if (e.target.tagName === 'INPUT' || e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.key === '/') { e.preventDefault(); $('search').focus(); return; }
  if (tab !== 'timeline') return;
  const k = {w: () => zoom(0.8), s: () => zoom(1.25), a: () => pan(-0.1), d: () => pan(0.1), ArrowLeft: () => pan(-0.1), ArrowRight: () => pan(0.1),
    f: () => tl.sel >= 0 && show(tl.sel, true), k: () => tl.sel >= 0 && drawer(N[E.name[tl.sel]]), 0: () => { tl.a = T.w0; tl.b = T.w1; redraw(); }, n: () => next(1), N: () => next(-1)}[e.key];
  if (k) { e.preventDefault(); k(); }
});

// ---- roofline and memory ------------------------------------------------------------------------------
let dots = [];
// Roofs: [name, bytes/s or 0, FLOP/s or 0]. Of a GPU by its data sheet; of a Ridge program by the machine file; of an older recording by its
// kernels, as far as they tell: the highest rate at which the model lets any of them use a unit.
function roofs() {
  const G = T.gpu, out = [];
  if (G.bw) { out.push([G.bw + ' GB/s', G.bw * 1e9, 0]); for (const [n, p] of [['fp32', G.f32], ['tf32', G.tf32], ['fp16/bf16', G.f16]]) if (p) out.push([n + ' ' + p + ' TFLOP/s', 0, p * 1e12]); return out; }
  if (T.machine.flops && T.machine.bytes) // of the machine file, as rg_machine_of says them
    return [['memory ' + (T.machine.bytes / 1e9).toFixed(0) + ' GB/s', T.machine.bytes, 0], ['f32 ' + (T.machine.flops / 1e9).toFixed(0) + ' GFLOP/s', 0, T.machine.flops],
      ['matrix, 16 bit ' + (T.machine.half / 1e9).toFixed(0) + ' GFLOP/s', 0, T.machine.half]].filter(r => r[1] || r[2] === T.machine.flops || r[2] > T.machine.flops);
  const arithmetic = ['f64', 'f32', 'f16', 'matrix', 'integer', 'special'];
  const main = (k, unit) => k.units_ns[unit] > 0 && (!arithmetic.includes(unit) || arithmetic.every(u => !(k.units_ns[u] > k.units_ns[unit]))); // operations of other units are counted too
  const best = (unit, work) => Math.max(0, ...K.filter(k => main(k, unit)).map(k => 1e9 * work(k) / k.calls / k.units_ns[unit]));
  for (const unit of ['memory', 'L3', 'L2']) { const r = best(unit, k => k.bytes); if (r) out.push([unit + ' ' + (r / 1e9).toFixed(0) + ' GB/s', r, 0]); }
  for (const unit of ['f64', 'f32', 'f16', 'matrix']) { const r = best(unit, k => k.flops); if (r) out.push([unit + ' ' + (r / 1e9).toFixed(0) + ' GFLOP/s', 0, r]); }
  return out;
}
function drawRoofline() {
  const c = $('rf'), w = resize(c, 520), g = c.getContext('2d'), X = 70, Y = 480, H = 450, W = w - 100;
  g.fillStyle = theme.bg; g.fillRect(0, 0, w, 520); g.font = '12px system-ui,sans-serif';
  const ks = R.kernels.filter(k => k.modelled && k.flops > 0 && k.bytes > 0), list = roofs(), top = Math.max(...list.map(r => r[2]));
  g.fillStyle = theme.fg;
  if (!ks.length || !list.some(r => r[1]) || !(top > 0)) { g.fillText('no kernel with known FLOPs and bytes, or no known roof for this device', 80, 60); return; }
  const rate = k => k.flops / (k.ns / k.count * 1e-9), hi = Math.ceil(Math.log10(top) + 0.2), lo = Math.min(hi - 4, Math.max(hi - 8, Math.floor(Math.log10(Math.min(...ks.map(rate))))));
  const ai = x => X + W * (Math.log10(x) + 2) / 6, perf = p => Y - H * Math.max(0, Math.log10(p) - lo) / (hi - lo); // 0.01..10^4 FLOP/B
  g.strokeStyle = theme.line; g.fillStyle = theme.dim;
  for (let e = -2; e <= 4; e++) { const x = ai(Math.pow(10, e)); g.beginPath(); g.moveTo(x, Y); g.lineTo(x, Y - H); g.stroke(); g.fillText(e < 0 ? Math.pow(10, e).toFixed(-e) : String(Math.pow(10, e)), x - 8, Y + 16); }
  for (let e = lo; e <= hi; e++) { const y = perf(Math.pow(10, e)), k = Math.floor(e / 3); g.beginPath(); g.moveTo(X, y); g.lineTo(X + W, y); g.stroke(); g.fillText(Math.pow(10, e - 3 * k) + ' ' + ('  k M G T P E'.split(' ')[k + 1] || ''), 30, y + 4); }
  g.fillText('FLOP per byte', X + W / 2 - 40, Y + 34); g.fillText('FLOP/s', 10, 22);
  g.save(); g.beginPath(); g.rect(X, Y - H - 20, W, H + 20); g.clip();
  for (const [label, bw, peak] of list) {
    const knee = bw ? top / bw : peak / Math.max(...list.map(r => r[1])), y = perf(bw ? top : peak);
    g.strokeStyle = theme.fg; g.lineWidth = 1.5; g.fillStyle = theme.fg; g.beginPath();
    if (bw) { g.moveTo(ai(0.01), Y - H * (Math.log10(bw * 0.01) - lo) / (hi - lo)); g.lineTo(ai(knee), y); } else { g.moveTo(ai(knee), y); g.lineTo(X + W, y); }
    g.stroke(); g.lineWidth = 1;
    if (bw) { const at = Math.max(0.012, Math.pow(10, lo + 0.3) / bw); g.fillText(label, ai(at) + 4, perf(bw * at) - 6); } else g.fillText(label, X + W - 170, y - 5);
  }
  g.restore();
  dots = ks.map(k => { const x = ai(Math.min(9e3, Math.max(0.011, k.flops / k.bytes))), y = perf(rate(k)), r = 4 + 16 * Math.sqrt(k.ns / kernelTime); return {k, x, y, r}; });
  for (const d of dots) { g.globalAlpha = 0.7; g.fillStyle = CLASS_COLOR[d.k.class] || '#888'; g.beginPath(); g.arc(d.x, d.y, d.r, 0, 7); g.fill(); g.globalAlpha = 1; g.strokeStyle = theme.bg; g.stroke(); }
  let x = X + 10;
  for (const n of new Set(ks.map(k => k.class))) { g.fillStyle = CLASS_COLOR[n]; g.fillRect(x, 26, 10, 10); g.fillStyle = theme.fg; g.fillText(n, x + 14, 36); x += 30 + g.measureText(n).width; }
}
$('rf').addEventListener('click', e => {
  const r = $('rf').getBoundingClientRect(), x = e.clientX - r.left, y = e.clientY - r.top, d = dots.filter(o => Math.hypot(o.x - x, o.y - y) <= o.r + 2).sort((p, q) => p.r - q.r)[0];
  if (d) drawer(d.k.full_name || d.k.name, d.k.where);
});
$('rf').addEventListener('pointermove', e => {
  const r = $('rf').getBoundingClientRect(), x = e.clientX - r.left, y = e.clientY - r.top, tip = $('rtip');
  const d = dots.filter(o => Math.hypot(o.x - x, o.y - y) <= o.r + 2).sort((p, q) => p.r - q.r)[0];
  tip.style.display = d ? 'block' : 'none';
  if (!d) return;
  tip.style.left = e.clientX + 14 + 'px'; tip.style.top = e.clientY + 14 + 'px';
  tip.textContent = d.k.name + '  ' + d.k.class + '  x' + d.k.count + '  ' + us(d.k.ns / d.k.count) + '  ' + pct(d.k.roof) + ' of the roof, ' + d.k.bound + ' bound';
});
const KINDS = ['#0e7490', '#b45309', '#4d7c0f', '#7c3aed', '#be123c', '#1d4ed8', '#a16207', '#0f766e', '#6b7280', '#9d174d', '#374151', '#57534e'];
function memoryLegend() {
  return T.heap.over.kinds.map((k, i) => '<span class="kind"><i style="background:' + KINDS[i % KINDS.length] + '"></i>' + esc(k) + '</span>').join('');
}
function drawMemory() {
  const c = $('mm'), w = resize(c, 320), g = c.getContext('2d'), M = T.memory;
  g.fillStyle = theme.bg; g.fillRect(0, 0, w, 320); g.fillStyle = theme.fg; g.font = '12px system-ui,sans-serif';
  if (!M.length) { g.fillText('no memory events were recorded (profile_memory=True)', 20, 40); }
  else {
    const a = M[0][0], b = Math.max(a + 1, M[M.length - 1][0]), peak = R.memory.peak_bytes || 1;
    g.fillText('peak ' + mb(peak) + (R.memory.grows ? '; it grows' : ''), 12, 16);
    const X = 80, B = 290, H = 260, xs = niceStep((b - a) / 8), ys = niceStep(peak / 4);
    // A layer for each kind, each drawn over those above it; without kinds, one.
    const O = T.heap.over, layers = O.kinds.length ? O.kinds : [''], px = t => X + (w - X) * (t - a) / (b - a);
    for (let k = layers.length - 1; k >= 0; k--) {
      g.fillStyle = KINDS[k % KINDS.length]; g.beginPath(); g.moveTo(X, B);
      let y = B;
      for (const [i, [t, v]] of M.entries()) {
        let sum = v;
        if (O.kinds.length) { sum = 0; for (let j = 0; j <= k; j++) sum += O.bytes[i][j]; }
        g.lineTo(px(t), y); y = B - H * sum / peak; g.lineTo(px(t), y);
      }
      g.lineTo(w, y); g.lineTo(w, B); g.fill();
    }
    if (O.kinds.length && T.heap.t) { // where the table below is of
      g.strokeStyle = theme.fg; g.setLineDash([4, 3]); g.beginPath(); g.moveTo(px(T.heap.t), B - H - 6); g.lineTo(px(T.heap.t), B); g.stroke(); g.setLineDash([]);
    }
    g.strokeStyle = theme.line; g.fillStyle = theme.dim;
    for (let v = 0; v <= peak; v += ys) { const at = B - H * v / peak; g.beginPath(); g.moveTo(X, at); g.lineTo(w, at); g.stroke(); g.fillText(mb(v), 6, at + 4); }
    for (let t = Math.ceil(a / xs) * xs; t < b; t += xs) { const x = X + (w - X) * (t - a) / (b - a); g.beginPath(); g.moveTo(x, B); g.lineTo(x, B + 6); g.stroke(); g.fillText(timeText(t, xs), x - 14, B + 20); }
  }
  let h = '<p id="kinds">' + memoryLegend() + '</p>' + heapTables(), held = '';
  for (const o of R.memory.held) held += '<tr><td class="n">' + mb(o.bytes) + '</td><td class="n">' + o.blocks + '</td><td class="name">' + esc(o.where) + '</td></tr>';
  if (held) h += '<h3>Still held at the end of the recording</h3><table><tr><th class="n">bytes</th><th class="n">blocks</th><th>from</th></tr>' + held + '</table>';
  $('held').innerHTML = h;
}
// Memory of a Ridge program: what the peak is made of.
function heapTables() {
  const H = T.heap, kinds = Object.entries(H.kinds).sort((a, b) => b[1] - a[1]), all = kinds.reduce((s, k) => s + k[1], 0) || 1;
  if (!kinds.length) return '';
  let h = '<h3>At the peak, after ' + ms(H.t) + '</h3><table>' + kinds.map(k => '<tr><td>' + esc(k[0]) + '</td><td class="n">' + mb(k[1]) + '</td><td class="n">' + pct(k[1] / all) + '</td><td class="share"><i class="bar" style="width:' + 100 * k[1] / kinds[0][1] + '%"></i></td></tr>').join('') + '</table>';
  for (const [key, title] of [['peak', 'Who holds it then'], ['left', 'Left at the end'], ['grows', 'More in every step']])
    if (H[key].length) h += '<h3>' + title + '</h3><div class="scroll"><table><tr><th class="n">bytes</th><th class="n">blocks</th><th>for</th><th>line</th><th>function</th><th>module</th><th>shape</th></tr>' +
      H[key].map(r => '<tr' + (r[3] ? ' class="go" data-line="' + esc(r[3]) + '"' : '') + '><td class="n">' + mb(r[1]) + '</td><td class="n">' + r[2] + '</td><td>' + esc(r[0]) + '</td>' + [3, 4, 5, 6].map(i => '<td>' + esc(r[i]) + '</td>').join('') + '</tr>').join('') + '</table></div>';
  return h;
}
$('held').addEventListener('click', e => { const go = e.target.closest('.go'); if (go) showLine(go.dataset.line); });

// ---- two recordings side by side ------------------------------------------------------------------------
const file = s => s.replace(/.*\//, ''), signed = ns => (ns > 0 ? '+' : ns < 0 ? '-' : '') + us(Math.abs(ns));
function drawCompare() {
  const [a, b] = C.budgets, keys = Object.keys(a).filter(k => a[k] || b[k]).sort((x, y) => b[y] + a[y] - b[x] - a[x]), most = Math.max(C.a.step_ns, C.b.step_ns, 1);
  const bar = (s, i) => '<tr><th scope="row" class="name">' + esc(file(s.file)) + '</th><td class="n">' + us(s.step_ns) + '</td><td class="n">' + s.steps + '</td><td style="width:60%"><div class="side" style="width:' + 100 * s.step_ns / most + '%">' +
    keys.filter(k => C.budgets[i][k] > 0).map(k => '<i title="' + esc(k) + ' ' + us(C.budgets[i][k]) + '" style="flex:' + C.budgets[i][k] + ';background:' + (COLOR[k] || '#6b7280') + '"></i>').join('') + '</div></td></tr>';
  $('compare').innerHTML = '<h2>' + (C.delta_ns > 0 ? 'Slower' : C.delta_ns < 0 ? 'Faster' : 'The same') + ': ' + signed(C.delta_ns) + ' (' + (C.change > 0 ? '+' : '') + pct(C.change) + ') a ' + esc(C.per) + '</h2>' +
    '<table><thead><tr><th scope="col">recording</th><th scope="col" class="n">a ' + esc(C.per) + '</th><th scope="col" class="n">steps</th><th scope="col">where its time goes</th></tr></thead><tbody>' + bar(C.a, 0) + bar(C.b, 1) + '</tbody></table>' +
    '<h3>By cause</h3><table id="bycause"><thead><tr><th scope="col">cause</th><th scope="col" class="n">before</th><th scope="col" class="n">after</th><th scope="col" class="n">change</th></tr></thead><tbody>' +
    keys.map(k => '<tr><td><i class="dot" style="background:' + (COLOR[k] || '#6b7280') + '"></i>' + esc(k) + '</td><td class="n">' + us(a[k]) + '</td><td class="n">' + us(b[k]) + '</td><td class="n">' + signed(C.budget[k]) + '</td></tr>').join('') + '</tbody></table>' +
    '<h3>By ' + esc(C.by) + '</h3><div class="scroll" tabindex="0"><table id="byrow"><thead><tr><th scope="col">' + esc(C.by) + '</th><th scope="col">what</th><th scope="col">line</th><th scope="col" class="n">calls before</th><th scope="col" class="n">after</th><th scope="col" class="n">each before</th><th scope="col" class="n">after</th><th scope="col" class="n">change</th></tr></thead><tbody>' +
    C.rows.slice(0, 200).map((r, i) => '<tr' + (r.calls[1] ? ' class="go" data-i="' + i + '"' : '') + '><td class="name">' + esc(r.name) + '</td><td>' + esc(r.what) + '</td><td>' + esc(r.where) + '</td>' + [0, 1].map(k => '<td class="n">' + r.calls[k] + '</td>').join('') +
      [0, 1].map(k => '<td class="n">' + (r.calls[k] ? us(r.ns[k] / r.calls[k]) : '-') + '</td>').join('') + '<td class="n">' + signed(r.delta_ns) + '</td></tr>').join('') + '</tbody></table></div>';
}
$('compare').addEventListener('click', e => { const go = e.target.closest('.go'); if (go) drawer(C.rows[go.dataset.i].name, C.rows[go.dataset.i].where); });

// ---- tabs and theme -----------------------------------------------------------------------------------
let tab = '';
function open(name) {
  tab = name;
  for (const b of document.querySelectorAll('nav [data-tab]')) { b.classList.toggle('on', b.dataset.tab === name); b.setAttribute('aria-selected', b.dataset.tab === name); }
  for (const s of document.querySelectorAll('main section')) s.classList.toggle('on', s.id === name);
  if (drawTable[name]) drawTable[name]();
  if (name === 'timeline') { drawTimeline(); cv.focus({preventScroll: true}); }
  if (name === 'roofline') drawRoofline();
  if (name === 'memory') drawMemory();
  if (name === 'source') drawSource();
  if (name === 'compare') drawCompare();
}
for (const b of document.querySelectorAll('nav [data-tab]')) b.addEventListener('click', () => open(b.dataset.tab));
function setTheme(dark) { document.documentElement.classList.toggle('dark', dark); readTheme(); if (tab) open(tab); }
$('theme').addEventListener('click', () => setTheme(!document.documentElement.classList.contains('dark')));
addEventListener('resize', () => tab && open(tab));
head(); advice();
if (!T.sources.length) document.querySelector('[data-tab=source]').remove();
if (!C) document.querySelector('[data-tab=compare]').remove();
setTheme(matchMedia('(prefers-color-scheme: dark)').matches);
open(C ? 'compare' : 'advice');
window.ridge = {K, R, T, C, STEPS, drawer, matches: () => matches, roofs, tl, E, ROWS, open, zoom, pan, find, next, frames: () => frames, drawn: () => drawn, draw: drawTimeline, ready: performance.now()};
setTimeout(() => E.t0, 0);
