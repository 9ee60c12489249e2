// Line charts as SVG: as wide as their place, with axes, names and a line to point with.

import { h, number, s } from "./dom.js";

const ROOT = 15; // pixels of the page's letters in which charts are drawn; larger ones make larger charts
const MARGIN = { top: 14, right: 16, bottom: 34, left: 52 };
const DASHES = ["none", "9 4", "2 3", "9 3 2 3", "16 4", "4 2", "9 3 2 3 2 3", "16 3 2 3"]; // of lines, in order
const ROOM = 0.06; // of the height, above and below the values

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
    const right = width - MARGIN.right,
        bottom = height - MARGIN.bottom,
        across = right - MARGIN.left;
    return {
        x0,
        x1,
        y0,
        y1,
        right,
        bottom,
        width,
        height,
        X: (x) => MARGIN.left + (across * (x - x0)) / (x1 - x0 || 1),
        Y: (y) => bottom - ((bottom - MARGIN.top) * (Math.min(Math.max(y, y0), y1) - y0)) / (y1 - y0),
        valueAt: (pixel) => Math.min(x1, Math.max(x0, x0 + ((pixel - MARGIN.left) / across) * (x1 - x0))),
    };
}

function verticalAxis(data, scale) {
    const { found, digits } = ticks(scale.y0, scale.y1, 4);
    return found.flatMap((value) => [
        s("line", {
            class: value === 0 ? "zero" : "grid",
            x1: MARGIN.left,
            x2: scale.right,
            y1: scale.Y(value),
            y2: scale.Y(value),
        }),
        s("text", {
            class: "tick",
            x: MARGIN.left - 7,
            y: scale.Y(value) + 4,
            "text-anchor": "end",
            text: number(value, data.yDigits ?? digits),
        }),
    ]);
}

function horizontalAxis(data, scale) {
    const { found, digits } = ticks(scale.x0, scale.x1, Math.max(2, scale.width / 90));
    return found.map((value) =>
        s("text", {
            class: "tick",
            x: scale.X(value),
            y: scale.bottom + 16,
            "text-anchor": "middle",
            text: data.xText?.(value) ?? number(value, digits),
        }),
    );
}

function axes(data, scale) {
    const { right, height, x0, x1, X, Y } = scale;
    const diagonal = { class: "diagonal", x1: X(x0), y1: Y(x0), x2: X(x1), y2: Y(x1) };
    return [
        ...verticalAxis(data, scale),
        ...horizontalAxis(data, scale),
        s("text", { class: "axis", x: right, y: height - 4, "text-anchor": "end", text: data.xName ?? "" }),
        s("text", { class: "axis", x: MARGIN.left, y: 10, text: data.yName ?? "" }),
        data.diagonal ? s("line", diagonal) : "",
    ];
}

/** The series, each with its number among the named ones of its kind: lines and dots differ by more than colour. */
function numbered(series) {
    const counts = {};
    return series.map((each) => {
        const kind = each.kind ?? "line";
        if (each.name) counts[kind] = (counts[kind] ?? -1) + 1;
        return { ...each, kind, pattern: each.name ? counts[kind] : 0 };
    });
}

const dashesOf = ({ kind, pattern }) => (kind === "line" ? DASHES[pattern % DASHES.length] : "none");

/** A dot of a series: a circle, a square, a triangle or a rhomb. */
function dot({ pattern, radius = 3 }, x, y) {
    const r = 1.15 * radius;
    const corners = [
        null,
        `h${r}v${r}h${-2 * r}v${-2 * r}h${r}v${r}`,
        `m0 ${-1.3 * r}l${1.3 * r} ${2.2 * r}h${-2.6 * r}z`,
        `m0 ${-1.4 * r}l${1.4 * r} ${1.4 * r}l${-1.4 * r} ${1.4 * r}l${-1.4 * r} ${-1.4 * r}z`,
    ][pattern % 4];
    if (!corners) return s("circle", { cx: x, cy: y, r: radius });
    return s("path", { class: "dot", d: `M${x.toFixed(1)} ${y.toFixed(1)}${corners}` });
}

function dots(each, { X, Y }) {
    return each.points.flatMap(([x, y, error]) => [
        error ? s("line", { x1: X(x), x2: X(x), y1: Y(y - error), y2: Y(y + error) }) : "",
        dot(each, X(x), Y(y)),
    ]);
}

function seriesOf(each, scale) {
    const { X, Y } = scale;
    const group = s("g", { class: `series ${each.kind}`, style: { color: each.colour } });
    const path = each.points.map(([x, y]) => `${X(x).toFixed(1)} ${Y(y).toFixed(1)}`).join("L");
    if (each.kind !== "dots") group.append(s("path", { d: `M${path}`, "stroke-dasharray": dashesOf(each) }));
    if (each.kind === "area") {
        const [first, last] = [each.points[0][0], each.points.at(-1)[0]];
        group.append(s("path", { class: "area", d: `M${X(first)} ${Y(0)}L${path}L${X(last)} ${Y(0)}Z` }));
    }
    if (each.kind === "dots" || each.dots) group.append(...dots(each, scale));
    return group;
}

function markOf(mark, isNamed, { X, Y, right }) {
    const name = s("text", {
        x: X(mark.x),
        y: Y(mark.y) + (mark.below ? 19 : -10),
        "text-anchor": X(mark.x) > right - 30 ? "end" : "middle",
        text: mark.text,
    });
    return s(
        "g",
        { class: `mark ${mark.kind ?? ""}`, "data-ply": mark.x },
        s("circle", { cx: X(mark.x), cy: Y(mark.y), r: 5.5 }, s("title", { text: mark.title })),
        isNamed ? name : "",
    );
}

/** The marks; those that have no room for their name go without. */
function marksOf(data, scale) {
    let free = -Infinity; // from where on there is room
    return (data.marks ?? []).map((mark) => {
        const half = 4 * (mark.text?.length ?? 0);
        const isNamed = mark.text && scale.X(mark.x) - half > free;
        if (isNamed) free = scale.X(mark.x) + half;
        return markOf(mark, isNamed, scale);
    });
}

function picture(data, series, { width, height, label, choose }) {
    const scale = scaleOf(data, series, width, height);
    const now = { class: "now", x1: scale.X(data.at), x2: scale.X(data.at), y1: MARGIN.top, y2: scale.bottom };
    const svg = s(
        "svg",
        { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label },
        s("desc", { text: inWords(data, series) }),
        axes(data, scale),
        series.map((each) => seriesOf(each, scale)),
        marksOf(data, scale),
        data.at === undefined ? "" : s("line", now),
    );
    if (!choose) return svg;
    svg.classList.add("can-choose");
    // no "click": that is lost where the chart is drawn anew between press and release
    svg.addEventListener("pointerup", (event) => {
        if (event.button !== 0) return;
        const pixel = (event.clientX - svg.getBoundingClientRect().left) * (width / svg.clientWidth);
        choose(scale.valueAt(pixel));
    });
    return svg;
}

/** A chart in words: where each of its named lines begins and ends. */
function inWords(data, series) {
    const value = (point) => number(point[1], data.yDigits ?? 2);
    return series
        .filter((each) => each.name)
        .map((each) => `${each.name} from ${value(each.points[0])} to ${value(each.points.at(-1))}`)
        .join(", ");
}

/** A piece of a series for the legend. */
function sample(each) {
    const isDrawn = each.kind === "line" || each.kind === "dots";
    const parts = [
        each.kind === "line" ? s("path", { d: "M1 6H33", "stroke-dasharray": dashesOf(each) }) : "",
        each.kind === "dots" || each.dots ? dot({ pattern: each.pattern }, 17, 6) : "",
    ];
    const drawing = s("svg", { class: "series", viewBox: "0 0 34 12", "aria-hidden": "true" }, parts);
    return h("i", { class: each.kind, style: { color: each.colour } }, isDrawn ? drawing : "");
}

/**
 * A chart that draws itself anew where its place changes. `read` gives what to draw: series of { name, points, colour,
 * kind }, where a point is [x, y, half the width of its interval]; kind is line, dots, dashed or area. `choose` gets the
 * x that was pointed at.
 * @param {{ label: string, height: number, read: () => any, choose?: (x: number) => void }} options
 */
export function chart({ label, height, read, choose }) {
    const legend = h("div", { class: "legend" });
    const place = h("div", { class: "chart-place" });
    const box = h("div", { class: "chart" }, place, legend);
    let last;

    box.redraw = () => {
        if (!place.clientWidth) return;
        const width = (ROOT * place.clientWidth) / Number.parseFloat(getComputedStyle(document.body).fontSize);
        const data = read();
        const series = numbered(data.series).filter((each) => each.points.length);
        place.replaceChildren(picture(data, series, { width, height, label, choose }));
        const named = series.filter((each) => each.name);
        legend.replaceChildren(...named.map((each) => h("span", {}, sample(each), each.name)));
    };
    new ResizeObserver(() => {
        if (place.clientWidth === last) return;
        last = place.clientWidth;
        box.redraw();
    }).observe(place);
    return box;
}

/** Of lines, one after the other, each seen on light and on dark paper. */
export const COLOURS = ["#3d84d6", "#c76a14", "#2a9d78", "#b06bc4", "#9a7c00", "#1f8fb5", "#d0586b", "#7d8a97"];
