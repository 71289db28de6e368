import { X } from 'lucide-react'
import type { ReactNode } from 'react'
import { onMac } from '../base/key-names.ts'
import { preferences, setPreferences } from '../base/preferences.ts'
import type { Action } from '../base/shortcuts.logic.ts'
import { useStore } from '../base/store.ts'
import { Button, Key } from '../parts/button.tsx'
import { Shortcut } from '../parts/shortcut.tsx'
import { Switch } from './form-parts.tsx'
import { actionNames } from './recordable-keys.logic.ts'
import { Section } from './section.tsx'
import { ShortcutRow } from './shortcut-row.tsx'

/** An action, whose shortcut can be changed, or fixed keys with their effect. */
type Row = Action | readonly [keys: readonly string[], does: string]

const groups: readonly (readonly [title: string, rows: readonly Row[]])[] = [
  [
    'Anywhere',
    [
      'palette',
      'new',
      'inbox',
      'previous',
      'next',
      [['↑', '↓'], 'Move through the session list'],
      [['←', '→'], 'Fold and unfold a project in the list'],
      'sidebar',
      'prompt',
      'keys',
    ],
  ],
  ['Reading', ['find', 'rowBelow', 'rowAbove', 'latest']],
  [
    'Writing',
    [
      [['Enter'], 'Send, or queue while the agent works'],
      [['Ctrl', 'Enter'], 'Steer: send into the running turn'],
      [['Shift', 'Enter'], 'New line'],
      [['Esc'], 'Stop the turn'],
      [['↑'], 'Previous prompt'],
      [['/'], 'Agent commands'],
      [['@'], 'Files in the folder'],
    ],
  ],
  [
    'Answering requests',
    [
      [['1'], 'Allow once, or approve the plan'],
      [['2'], 'Allow for this session'],
      [['3'], 'Deny, or request changes to the plan'],
      [['1', '…', '9'], 'Choose an answer'],
      [['Enter'], 'Send the answers'],
    ],
  ],
  [
    'In the changes',
    [
      'review',
      [['J'], 'Next file, or N'],
      [['K'], 'Previous file, or P'],
      [[']'], 'Next change'],
      [['['], 'Previous change'],
      [['↑', '↓'], 'Move through lines; with Shift, choose lines'],
      [['C'], 'Write a remark'],
      [['V'], 'Mark as viewed, and go to the next file'],
      [['S'], 'Stage the change or the file, or unstage it'],
      [['X'], 'Discard the change, or the file'],
    ],
  ],
  [
    'In a terminal',
    [
      [['F6'], 'Back to the prompt'],
      [['Ctrl', 'Shift', 'F'], 'Find in the terminal'],
      // On a Mac, Command+K opens the palette and is never sent to the shell.
      ...(onMac ? [] : [[['Ctrl', 'K'], 'Sent to the shell'] as const]),
    ],
  ],
]

export const keysPurpose =
  'Single keys work when the focus is not in a text field, a menu, a terminal or a side panel. The changes have keys of their own.'

function Keys({ keys }: { keys: readonly string[] }) {
  return keys.map((key) => (
    <Key key={key} always>
      {key}
    </Key>
  ))
}

type GroupsProps = { row: (action: Action) => ReactNode; fixed?: string }

/** `row` renders an action; `fixed` is the style of keys that cannot be changed. */
function Groups({ row, fixed = '' }: GroupsProps) {
  return (
    <div className="grid gap-6 sm:grid-cols-2">
      {groups.map(([title, rows]) => (
        <section key={title} aria-label={title}>
          <h3 className="pb-1.5 text-sm font-semibold">{title}</h3>
          <ul className="flex flex-col gap-1 text-sm">
            {rows.map((one) =>
              typeof one === 'string' ? (
                <li key={one}>{row(one)}</li>
              ) : (
                <li key={one[1]} className={`flex min-h-7 items-center gap-3 ${fixed}`}>
                  <span className="min-w-0 flex-1 text-soft">{one[1]}</span>
                  <span className="flex shrink-0 gap-1">
                    <Keys keys={one[0]} />
                  </span>
                </li>
              ),
            )}
          </ul>
        </section>
      ))}
    </div>
  )
}

/** The keyboard shortcuts, for the `?` dialog. */
export function KeyTable() {
  return (
    <Groups
      row={(action) => (
        <span className="flex min-h-7 items-center gap-3">
          <span className="min-w-0 flex-1 text-soft">{actionNames[action]}</span>
          <Shortcut action={action} always />
        </span>
      )}
    />
  )
}

export function KeysSection() {
  const state = useStore(preferences)
  const isChanged = Object.keys(state.shortcuts).length > 0
  return (
    <Section
      title="Keyboard shortcuts"
      purpose={`${keysPurpose} Changed shortcuts are stored in this browser.`}
      beside={
        isChanged && (
          <Button onClick={() => setPreferences({ shortcuts: {} })}>
            <X size={14} aria-hidden /> Reset all
          </Button>
        )
      }
    >
      <div className="pb-6 text-sm">
        <Switch
          name="singleKeys"
          state={state}
          label="Single-key shortcuts"
          note="When off, a letter, digit or symbol alone is not a shortcut. Digits then answer only the request that has the focus."
        />
      </div>
      <Groups
        row={(action) => <ShortcutRow action={action} />}
        fixed="pr-8.5 pointer-coarse:min-h-11 pointer-coarse:pr-12.5"
      />
    </Section>
  )
}
