import type { Project, ProjectPatch, ProjectSettings, Scope } from '@parley/protocol'

export type FormField = {
  readonly key: keyof ProjectSettings
  readonly label: string
  readonly note: string
  /** The scopes that a change of the setting needs, as docs/projects.md lists them. */
  readonly scopes: readonly Scope[]
  /** Shown in the empty field. */
  readonly example?: string
  readonly kind: 'line' | 'lines' | 'command' | 'number'
}

export const formFields: readonly FormField[] = [
  { key: 'name', label: 'Name', note: 'Replaces the name of the folder.', scopes: ['prompt'], kind: 'line' },
  {
    key: 'base',
    label: 'Base branch',
    note: 'Changes are compared with this branch and merged into it.',
    scopes: ['prompt', 'admin', 'decide'],
    kind: 'line',
  },
  {
    key: 'setup',
    label: 'Setup command',
    note: 'Prepares a new worktree. Runs without asking.',
    scopes: ['prompt', 'admin', 'decide'],
    example: 'for example npm ci',
    kind: 'command',
  },
  {
    key: 'check',
    label: 'Check command',
    note: 'Tests the work. Runs without asking.',
    scopes: ['prompt', 'admin', 'decide'],
    example: 'for example npm test',
    kind: 'command',
  },
  {
    key: 'copy',
    label: 'Ignored files to copy into a new worktree',
    note: 'One path or pattern inside the folder on each line.',
    scopes: ['prompt', 'admin', 'decide'],
    example: 'for example .env',
    kind: 'lines',
  },
  {
    key: 'keepDays',
    label: 'Days to keep an unused worktree',
    note: 'An unused worktree is removed after this number of days, if nothing would be lost. Leave empty to keep worktrees.',
    scopes: ['prompt', 'admin'],
    example: 'never',
    kind: 'number',
  },
]

export type FormTexts = Readonly<Record<keyof ProjectSettings, string>>

export function textsOf(settings: Project['settings'] = {}): FormTexts {
  const { name = '', base = '', setup = '', check = '', copy = [], keepDays } = settings
  return { name, base, setup, check, copy: copy.join('\n'), keepDays: keepDays?.toString() ?? '' }
}

/** The settings that the person has changed. A null removes the setting. */
export function patchOf(before: FormTexts, after: FormTexts): ProjectPatch {
  const changed = formFields.filter(({ key }) => before[key].trim() !== after[key].trim())
  return Object.fromEntries(changed.map(({ key }) => [key, valueFrom(key, after[key].trim())]))
}

function valueFrom(key: keyof ProjectSettings, text: string): string | number | string[] | null {
  if (text === '') return null
  if (key === 'keepDays') return Number(text)
  if (key !== 'copy') return text
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

/** The first scope that a change of the setting needs and that the person lacks. */
export function missingScope(field: FormField, may: (scope: Scope) => boolean): Scope | undefined {
  return field.scopes.find((scope) => !may(scope))
}
