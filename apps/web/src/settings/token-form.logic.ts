import type { NewTokenInput, Scope } from '@parley/protocol'

export type TokenForm = {
  readonly name: string
  readonly scopes: readonly Scope[]
  /** One folder per line. */
  readonly folders: string
  readonly agents: readonly string[]
  /** In days; empty: the token does not expire. */
  readonly days: string
}

export const emptyToken: TokenForm = { name: '', scopes: ['read'], folders: '', agents: [], days: '30' }

export const lifetimes: readonly (readonly [days: string, label: string])[] = [
  ['1', '1 day'],
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
  ['365', '1 year'],
  ['', 'Never'],
]

const dayMs = 86_400_000

/** The token that the form describes, or the first problem with the form. */
export function tokenOf(form: TokenForm): { readonly body: NewTokenInput } | { readonly problem: string } {
  const name = form.name.trim()
  const folders = form.folders.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]))
  const { scopes, agents, days } = form
  if (name === '') return { problem: 'Enter a name by which you recognise the token.' }
  if (scopes.length === 0) return { problem: 'Choose at least one scope.' }
  const limits = {
    ...(folders.length > 0 && { folders: folders.map((folder) => ({ folder })) }),
    ...(agents.length > 0 && { agents: [...agents] }),
  }
  const isLimited = Object.keys(limits).length > 0
  const unlimitable = scopes.find((scope) => scope === 'terminal' || scope === 'admin')
  if (isLimited && unlimitable)
    return { problem: `The scope ${unlimitable} cannot be limited to folders or agents.` }
  return {
    body: {
      name,
      scopes: [...scopes],
      ...(isLimited && { limits }),
      ...(days !== '' && { lifetimeMs: Number(days) * dayMs }),
    },
  }
}
