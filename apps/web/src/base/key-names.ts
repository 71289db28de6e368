export const onMac = /^Mac/.test(navigator.platform)
const macKeys: Record<string, string> = { Ctrl: '⌘', Shift: '⇧' }

/** The name of a key on the person's platform. */
export function keyName(key: string): string {
  return (onMac && macKeys[key]) || key
}

/** Replaces the key names within a text such as "Find (Ctrl+F)". */
export function withKeys(text: string): string {
  return onMac ? text.replace(/\b(Ctrl|Shift)\+/g, (_, key: string) => keyName(key)) : text
}
