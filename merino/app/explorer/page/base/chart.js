// Line charts as SVG: as wide as their place, with axes, names and a line to point with.

import { h, s } from "./dom.js";
import { number } from "./words.js";

const ROOT = 15; // pixels of the page's letters in which charts are drawn; larger ones make larger charts
const MARGIN = { top: 14, right: 16, bottom: 34, left: 52 };
const DASHES = ["none", "9 4", "2 3", "9 3 2 3", "16 4", "4 2", "9 3 2 3 2 3", "16 3 2 3"]; // of lines, in order
const ROOM = 0.06; // of the height, above and below the values

/** Of lines, one after the other, each seen on light and on dark paper. */
export const COLOURS = ["#3d84d6", "#c76a14", "#2a9d78", "#b06bc4", "#9a7c00", "#1f8fb5", "#d0586b", "#7d8a97"];

/** Round values for the marks of an axis. */
function ticks(low, high, count) {
    const span = high - low || 1,
        rough = span / count,
        power = 10 ** Math.floor(Math.log10(rough));
    const step = power * ([1, 2, 5, 10].find((each) => each * power >= rough) ?? 10);
    const found = [];
    for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + 1e-9 * span; value += step)
        found.push(Math.abs(value) < step / 1e6 ? 0 : value);
    return { found, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
}

/** The lowest and the highest value of the y axis. */
function heights(data, series) {
    if (data.y) return data.y;
    const ys = series.flatMap((each) => each.points.flatMap(([, y, error = 0]) => [y - error, y + error]));
    let [low, high] = [Math.min(...ys), Math.max(...ys)];
    if (!(high > low)) [low, high] = [low - 1, high + 1];
    return [low - ROOM * (high - low), high + ROOM * (high - low)];
}

/** Where values stand in a picture of this size: `X` and `Y` give pixels, `valueAt` the x of a pixel. */
function scaleOf(data, series, width, height) {
    const xs = series.flatMap((each) => each.points.map((point) => point[0]));
    const [x0, x1] = data.x ?? [Math.min(...xs), Math.max(...xs)];
    const [y0, y1] = heights(data, series);
    const [right, bottom] = [width - MARGIN.right, height - MARGIN.bottom];
    const across = right - MARGIN.left;
    return {
        ...{ x0, x1, y0, y1, right, bottom, width, height },
        X: (x) => MARGIN.left + (across * (x - x0)) / (x1 - x0 || 1),
        Y: (y) => bottom - ((bottom - MARGIN.top) * (Math.min(Math.max(y, y0), y1) - y0)) / (y1 - y0),
        valueAt: (pixel) => Math.min(x1, Math.max(x0, x0 + ((pixel - MARGIN.left) / across) * (x1 - x0))),
    };
}

const lineFrom = (kind, [x1, y1], [x2, y2]) => s(`line${kind}`, { x1, y1, x2, y2 });
const label = (kind, x, y, anchor, text) => s(`text${kind}`, { x, y, "text-anchor": anchor, text });

function axes(data, scale) {
    const { right, bottom, height, width, x0, x1, y0, y1, X, Y } = scale;
    const vertical = ticks(y0, y1, 4),
        horizontal = ticks(x0, x1, Math.max(2, width / 90));
    return [
        vertical.found.map((y) => [
            lineFrom(y === 0 ? ".zero" : ".grid", [MARGIN.left, Y(y)], [right, Y(y)]),
            label(".tick", MARGIN.left - 7, Y(y) + 4, "end", number(y, data.yDigits ?? vertical.digits)),
        ]),
        horizontal.found.map((x) => label(".tick", X(x), bottom + 16, "middle", number(x, horizontal.digits))),
        label(".axis", right, height - 4, "end", data.xName ?? ""),
        label(".axis", MARGIN.left, 10, "start", data.yName ?? ""),
    ];
}

/** The series, each with its number among the named ones of its kind: lines and dots differ by more than colour. */
function patterned(series) {
    const counts = {};
    return series.map((each) => {
        const kind = each.kind ?? "line";
        if (each.name) counts[kind] = (counts[kind] ?? -1) + 1;
        return { ...each, kind, pattern: each.name ? counts[kind] : 0 };
    });
}

const dashesOf = ({ kind, pattern }) => (kind === "line" ? DASHES[pattern % DASHES.length] : "none");

/** A dot of a series: a circle, or a square for every second one. */
const dot = ({ pattern }, x, y) =>
    pattern % 2
        ? s("rect", { x: x - 3.45, y: y - 3.45, width: 6.9, height: 6.9 })
        : s("circle", { cx: x, cy: y, r: 3 });

function seriesOf(each, { X, Y }) {
    const { kind, points, colour } = each;
    const path = points.map(([x, y]) => `${X(x).toFixed(1)} ${Y(y).toFixed(1)}`).join("L");
    const under = `M${X(points[0][0])} ${Y(0)}L${path}L${X(points.at(-1)[0])} ${Y(0)}Z`;
    const interval = ([x, y, error]) => error && lineFrom("", [X(x), Y(y - error)], [X(x), Y(y + error)]);
    const hasDots = kind === "dots" || each.dots;
    return s(
        `g.series.${kind}`,
        { style: { color: colour } },
        kind !== "dots" && s("path", { d: `M${path}`, "stroke-dasharray": dashesOf(each) }),
        kind === "area" && s("path.area", { d: under }),
        hasDots && points.map((point) => [interval(point) || null, dot(each, X(point[0]), Y(point[1]))]),
    );
}

/** The marks; those that have no room for their name go without. */
function marksOf(data, { X, Y, right }) {
    let free = -Infinity; // from where on there is room
    return (data.marks ?? []).map(({ x, y, kind, text, below, title }) => {
        const half = 4 * (text?.length ?? 0),
            [cx, cy] = [X(x), Y(y)];
        const isNamed = text && cx - half > free;
        if (isNamed) free = cx + half;
        const circle = s("circle", { cx, cy, r: 5.5 }, s("title", { text: title }));
        const name = label("", cx, cy + (below ? 19 : -10), cx > right - 30 ? "end" : "middle", text);
        return s(`g.mark.${kind}`, { "data-ply": x }, circle, isNamed ? name : null);
    });
}

/** @param {any} options those of `chart` */
function picture(data, series, width, options) {
    const { height, label: title, choose } = options;
    const scale = scaleOf(data, series, width, height);
    const [x, { bottom }] = [scale.X(data.at), scale];
    const svg = s(
        "svg",
        { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": title },
        s("desc", { text: inWords(data, series) }),
        axes(data, scale),
        series.map((each) => seriesOf(each, scale)),
        marksOf(data, scale),
        data.at === undefined ? null : lineFrom(".now", [x, MARGIN.top], [x, bottom]),
    );
    if (!choose) return svg;
    svg.classList.add("can-choose");
    // no "click": that is lost where the chart is drawn again between press and release
    svg.addEventListener("pointerup", (event) => {
        if (event.button !== 0) return;
        choose(scale.valueAt((event.clientX - svg.getBoundingClientRect().left) * (width / svg.clientWidth)));
    });
    return svg;
}

/** A chart in words: where each of its named lines begins and ends. */
function inWords(data, series) {
    const value = (point) => number(point[1], data.yDigits ?? 2);
    return series
        .filter((each) => each.name)
        .map(({ name, points }) => `${name} from ${value(points[0])} to ${value(points.at(-1))}`)
        .join(", ");
}

/** A piece of a series for the legend. */
function sample(each) {
    const { kind, dots, colour } = each;
    const drawing = s(
        "svg.series",
        { viewBox: "0 0 34 12", "aria-hidden": "true" },
        kind === "line" && s("path", { d: "M1 6H33", "stroke-dasharray": dashesOf(each) }),
        (kind === "dots" || dots) && dot(each, 17, 6),
    );
    const isDrawn = kind === "line" || kind === "dots";
    return h(`i.${kind}`, { style: { color: colour } }, isDrawn ? drawing : null);
}

/**
 * A chart that draws itself again where its place changes. `read` gives what to draw: series of { name, points, colour,
 * kind }, where a point is [x, y, half the width of its interval]; kind is line, dots or area. `choose` gets the
 * x that was pointed at.
 * @param {{ label: string, height: number, read: () => any, choose?: (x: number) => void }} options
 */
export function chart({ read, ...options }) {
    const legend = h("div.legend"),
        place = h("div.chart-place"),
        box = h("div.chart", place, legend);
    let last;

    box.redraw = () => {
        if (!place.clientWidth) return;
        const width = (ROOT * place.clientWidth) / Number.parseFloat(getComputedStyle(document.body).fontSize);
        const data = read();
        const series = patterned(data.series).filter((each) => each.points.length);
        place.replaceChildren(picture(data, series, width, options));
        const named = series.filter((each) => each.name);
        legend.replaceChildren(...named.map((each) => h("span", sample(each), each.name)));
    };
    new ResizeObserver(() => {
        if (place.clientWidth === last) return;
        last = place.clientWidth;
        box.redraw();
    }).observe(place);
    return box;
}

/** Draw those of these charts that have a place on the page. */
export const redrawCharts = (charts) => Object.values(charts).forEach((each) => each.isConnected && each.redraw());
