// What Argo CD's web interface imports from 'argo-ui/v2', which the registry's release of argo-ui does not have.
import Tippy from '@tippy.js/react';
import * as moment from 'moment';
import * as React from 'react';

export const ago = (date: Date) => moment(date).fromNow();

export const Tooltip = ({inverted, children, ...props}: any) => (
    <Tippy animation='fade' arrow={true} theme={inverted ? 'light' : 'dark'} {...props}>
        {children}
    </Tippy>
);

export const ActionButton = (props: {
    action?: (e: React.MouseEvent) => any;
    disabled?: boolean;
    icon?: string;
    label?: string;
    tooltip?: React.ReactNode;
    style?: React.CSSProperties;
}) => {
    const button = (
        <button className='argo-button argo-button--base-o argo-button--sm' disabled={props.disabled} onClick={props.action} style={props.style}>
            {props.icon && <i className={`fa ${props.icon}`} />} {props.label}
        </button>
    );
    return props.tooltip ? <Tooltip content={props.tooltip}>{button}</Tooltip> : button;
};

// Whoever shows the box may change the value by a click beside it: that is told like a click on it.
export const Checkbox = (props: {value?: boolean; onChange?: (value: boolean) => void; style?: React.CSSProperties}) => {
    const known = React.useRef(!!props.value);
    const tell = (value: boolean) => {
        if (known.current !== value) {
            known.current = value;
            if (props.onChange) {
                props.onChange(value);
            }
        }
    };
    React.useEffect(() => tell(!!props.value), [props.value]);
    return (
        <span className='argo-checkbox' style={props.style}>
            <input type='checkbox' checked={!!props.value} onChange={e => tell(e.target.checked)} />
            <span>
                <i className='fa fa-check' />
            </span>
        </span>
    );
};

export const Autocomplete = (props: {
    items: string[];
    value: string;
    placeholder?: string;
    abbreviations?: Map<string, string>;
    onChange: (e: React.ChangeEvent<HTMLInputElement>) => void;
    onItemClick: (item?: string) => void;
    style?: React.CSSProperties;
    inputStyle?: React.CSSProperties;
}) => {
    const [open, setOpen] = React.useState(false);
    const typed = (props.value || '').toLowerCase();
    const meant = (item: string) => item.toLowerCase().includes(typed) || ((props.abbreviations && props.abbreviations.get(item)) || '').toLowerCase().includes(typed);
    const items = typed ? (props.items || []).filter(meant) : props.items || [];
    const pick = (item?: string) => {
        setOpen(false);
        props.onItemClick(item);
    };
    return (
        <div className='select' style={{position: 'relative', ...props.style}}>
            <input
                className='argo-field'
                placeholder={props.placeholder}
                style={props.inputStyle}
                value={props.value}
                onBlur={() => setOpen(false)}
                onChange={props.onChange}
                onFocus={() => setOpen(true)}
                onKeyDown={e => e.key === 'Enter' && pick(items.find(item => item.toLowerCase() === typed))}
            />
            {open && items.length > 0 && (
                <div style={{position: 'absolute', zIndex: 10, width: '100%', maxHeight: '12em', overflowY: 'auto', background: '#30303d'}}>
                    {items.map(item => (
                        // The input loses its focus, and the list goes, before a click would end.
                        <div className='select__option' key={item} onMouseDown={() => pick(item)}>
                            {item}
                        </div>
                    ))}
                </div>
            )}
        </div>
    );
};

export function useData<T>(load: () => Promise<T>, initial?: T, then?: (data: T) => void, dependencies?: any[]): [T, boolean, boolean, () => void] {
    const [data, setData] = React.useState<T>(initial);
    const [loading, setLoading] = React.useState(true);
    const [error, setError] = React.useState(false);
    const [attempt, setAttempt] = React.useState(0);
    React.useEffect(() => {
        let wanted = true;
        setLoading(true);
        setError(false);
        load()
            .then(loaded => {
                if (wanted) {
                    setData(loaded);
                    if (then) {
                        then(loaded);
                    }
                }
            })
            .catch(() => wanted && setError(true))
            .then(() => wanted && setLoading(false));
        return () => {
            wanted = false;
        };
    }, [attempt, ...(dependencies || [])]);
    return [data, loading, error, () => setAttempt(attempt + 1)];
}

// useNav moves a position among a number of items; before the first stands none.
export function useNav(items: number): [number, (by: number) => boolean, () => void] {
    const position = React.useRef(-1);
    const [, show] = React.useState(-1);
    const put = (to: number) => {
        position.current = to;
        show(to);
    };
    const move = (by: number) => {
        const to = position.current + by;
        if (to < 0 || to >= items) {
            return false;
        }
        put(to);
        return true;
    };
    return [position.current, move, () => put(-1)];
}

export enum Key {
    DOWN = 'ArrowDown',
    ENTER = 'Enter',
    ESCAPE = 'Escape',
    LEFT = 'ArrowLeft',
    RIGHT = 'ArrowRight',
    SLASH = '/',
    UP = 'ArrowUp'
}

export enum NumKey {
    ZERO = '0',
    ONE = '1',
    TWO = '2',
    THREE = '3',
    FOUR = '4',
    FIVE = '5',
    SIX = '6',
    SEVEN = '7',
    EIGHT = '8',
    NINE = '9'
}

export enum NumPadKey {
    ZERO = 'Numpad0',
    ONE = 'Numpad1',
    TWO = 'Numpad2',
    THREE = 'Numpad3',
    FOUR = 'Numpad4',
    FIVE = 'Numpad5',
    SIX = 'Numpad6',
    SEVEN = 'Numpad7',
    EIGHT = 'Numpad8',
    NINE = 'Numpad9'
}

export type AnyKey = Key | NumKey | NumPadKey;

export const NumKeyToNumber = (key: NumKey | NumPadKey) => parseInt(key.slice(-1), 10);

export interface Keybinding {
    keys: AnyKey | AnyKey[];
    action: (key?: any) => boolean;
}

// useKeybinding acts on a key while its component is shown. Keys typed into a field are the field's, but for Escape.
function useKeybinding(binding: Keybinding) {
    const latest = React.useRef(binding);
    latest.current = binding;
    React.useEffect(() => {
        const listen = (e: KeyboardEvent) => {
            const pressed = e.code.startsWith('Numpad') ? e.code : e.key;
            const target = e.target as HTMLElement;
            const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable;
            const keys = ([] as AnyKey[]).concat(latest.current.keys);
            if ((typing && pressed !== Key.ESCAPE) || e.ctrlKey || e.metaKey || e.altKey) {
                return;
            }
            if (keys.includes(pressed as AnyKey) && latest.current.action(pressed)) {
                e.preventDefault();
            }
        };
        document.addEventListener('keydown', listen);
        return () => document.removeEventListener('keydown', listen);
    }, []);
}

export const KeybindingContext = React.createContext({useKeybinding});

export const KeybindingProvider = (props: {children?: React.ReactNode}) => (
    <KeybindingContext.Provider value={{useKeybinding}}>{props.children}</KeybindingContext.Provider>
);
