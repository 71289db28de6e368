/** The editors that open a file by an address, with their names. */
export const editors = {
  vscode: { name: 'VS Code', address: 'vscode://file/{path}:{line}' },
  cursor: { name: 'Cursor', address: 'cursor://file/{path}:{line}' },
  zed: { name: 'Zed', address: 'zed://file/{path}:{line}' },
  jetbrains: { name: 'JetBrains IDE', address: 'jetbrains://open?file={path}&line={line}' },
} as const
export type KnownEditor = keyof typeof editors

export function isKnownEditor(choice: string): choice is KnownEditor {
  return Object.hasOwn(editors, choice)
}

export function editorName(choice: string): string {
  return isKnownEditor(choice) ? editors[choice].name : 'the editor'
}

/** Schemes with which an address would run a script or show a page in the browser instead of opening an editor. */
const refused = /^(javascript|data|vbscript|blob|file|about|filesystem|view-source|ws|wss):/i

/** The problem with the address of another editor; undefined if the address is valid. */
export function editorProblem(address: string): string | undefined {
  if (!/^[a-z][a-z0-9+.-]*:/i.test(address)) return 'Start with the scheme of the editor, such as myeditor:.'
  if (refused.test(address)) return 'An address with this scheme opens no editor.'
  return address.includes('{path}')
    ? undefined
    : 'Write {path} where the path belongs, and {line} for the line.'
}

/** The address that opens a file in the chosen editor. Undefined if the choice cannot be used. */
export function editorAddress(choice: string, absolutePath: string, line = 1): string | undefined {
  const address = isKnownEditor(choice) ? editors[choice].address : choice
  if (editorProblem(address) !== undefined) return undefined
  // In the addresses of known editors, a slash precedes `{path}`, and an absolute path begins with a slash
  // too.
  const path = encodeURI(absolutePath).replace(/[?#:&+]/g, encodeURIComponent)
  return address
    .replace('/{path}', () => (path.startsWith('/') ? path : `/${path}`))
    .replaceAll('{path}', () => path)
    .replaceAll('{line}', String(line))
}
