// The focus of the keyboard: it stays on the same control, or on one near it, when a part of the page is drawn anew.

const CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex]";

/** @param {Element} element */
const isControl = (element) => element.matches(CONTROLS) && !element.matches(":disabled, [tabindex='-1']");

/**
 * What a control is known by when it is made anew.
 * @param {any} element
 */
const nameOf = (element) =>
    element.id ||
    JSON.stringify([
        element.tagName,
        { ...element.dataset },
        element.ariaLabel,
        element.matches("button") && element.textContent,
    ]);

/** The controls of a place that have a name, in their order. */
const namesakes = (place, name) => [...place.querySelectorAll(CONTROLS)].filter((each) => nameOf(each) === name);

/** The way from a place in to an element: of each step the position, and of controls what they are known by. */
function wayTo(place, element) {
    const steps = [];
    for (let each = element; each !== place; each = each.parentElement) {
        const name = isControl(each) || each === element ? nameOf(each) : null;
        const rank = name && namesakes(place, name).indexOf(each);
        steps.push({ name, rank, at: [...each.parentElement.children].indexOf(each) });
    }
    return steps;
}

function takes(element) {
    if (!element?.checkVisibility()) return false;
    element.focus({ preventScroll: true });
    return document.activeElement === element;
}

/** Focus the first control near the end of a way that may no longer exist, in or around its place. */
function focusNear(place, steps) {
    let near = place;
    for (const { at } of steps.toReversed()) near = near.children[at] ?? near;
    for (; near; near = near.parentElement)
        if ([near, ...near.querySelectorAll(CONTROLS)].some((each) => isControl(each) && takes(each))) return;
}

/**
 * Change a part of the page. Where the focus in it is seen, as that of the keyboard is, it is on the same control after
 * that, on the box that scrolls around it, or on one near it.
 * @param {Element} place
 * @param {() => void} change
 */
export function keepFocus(place, change) {
    const focused = /** @type {HTMLElement | null} */ (document.activeElement);
    const isKept = focused !== place && place.contains(focused) && focused?.matches(":focus-visible");
    const steps = isKept ? wayTo(place, focused) : [];
    change();
    if (!isKept || (document.activeElement === focused && focused?.checkVisibility())) return;
    const again = steps.map(({ name, rank }) => name && namesakes(place, name)[rank]);
    if (![focused, ...again].some(takes)) focusNear(place, steps);
}

/** Hide a part of the page. */
export const hide = (place) => keepFocus(place, () => place.toggleAttribute("hidden", true));
