import { Check } from 'lucide-react'
import type { ReactNode } from 'react'
import type { OpenMenu } from './menu.tsx'
import { focusUnderPointer, MenuFrame } from './menu-frame.tsx'

export type MenuOption = {
  readonly value: string
  readonly label: string
  /** The effect of the option, in one sentence. */
  readonly note?: string
  /** Shown beside the label, such as a version or a state. */
  readonly detail?: ReactNode
  readonly danger?: boolean
}

/** A group of options, of which one can be chosen. */
export type OptionGroup = {
  readonly label: string
  readonly value: string | undefined
  readonly options: readonly MenuOption[]
  /** Whether the options, which have no notes, are shown beside each other. */
  readonly isRow?: boolean
  readonly onChoose: (value: string) => void
}

type Props = OpenMenu & { groups: readonly OptionGroup[]; children?: ReactNode }

/**
 * A menu of groups of options. Enter or a click chooses and closes the menu, Space chooses and leaves it open. It is a
 * sheet on a narrow screen.
 */
export default function ChoiceMenu({ groups, children, ...menu }: Props) {
  return (
    <MenuFrame
      {...menu}
      align="left"
      isSheet
      className="w-108 max-w-[calc(100vw-1rem)]"
      startAt={(items) => items.find((item) => item.ariaChecked === 'true')}
      onKey={({ key }) => {
        const beside = { ArrowRight: 'nextElementSibling', ArrowLeft: 'previousElementSibling' } as const
        if (key !== 'ArrowRight' && key !== 'ArrowLeft') return false
        const sibling = document.activeElement?.[beside[key]]
        if (sibling instanceof HTMLElement && sibling.role === 'menuitemradio') sibling.focus()
        return true
      }}
    >
      {groups.map((group) => (
        <Group key={group.label} group={group} onClose={menu.onClose} />
      ))}
      {children}
      {/* On a touch screen, a tap beside the sheet closes it. This entry is for screen readers, which do not reach the backdrop. */}
      <button
        type="button"
        role="menuitem"
        tabIndex={-1}
        onClick={menu.onClose}
        className="mt-1 min-h-11 w-full rounded-md border border-line text-center text-sm font-medium focus:bg-hover md:hidden"
      >
        Close
      </button>
    </MenuFrame>
  )
}

function Group({ group, onClose }: { group: OptionGroup; onClose: () => void }) {
  const { label, options, isRow = false } = group
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has no place in a menu
    <div role="group" aria-label={label} className="pb-1">
      <p aria-hidden className="px-2 pt-1.5 pb-0.5 text-xs font-medium text-soft">
        {label}
      </p>
      <div role="none" className={isRow ? 'flex flex-wrap gap-1 px-1 pb-1' : ''}>
        {options.map((option) => (
          <Option key={option.value} option={option} group={group} onClose={onClose} />
        ))}
      </div>
    </div>
  )
}

type OptionProps = { option: MenuOption; group: OptionGroup; onClose: () => void }

function Option({ option, group, onClose }: OptionProps) {
  const { value, label, note, detail, danger = false } = option
  const chosen = value === group.value
  const choose = () => {
    if (!chosen) group.onChoose(value)
  }
  return (
    <button
      type="button"
      role="menuitemradio"
      aria-checked={chosen}
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key !== ' ') return
        event.preventDefault()
        choose()
      }}
      onClick={() => {
        onClose()
        choose()
      }}
      onPointerMove={focusUnderPointer}
      className={
        group.isRow
          ? `min-h-7 rounded-md border px-2 text-sm focus:outline-2 focus:outline-mark pointer-coarse:min-h-11 pointer-coarse:px-3 ${chosen ? 'border-mark bg-mark-wash font-medium' : 'border-line hover:bg-hover'}`
          : 'flex min-h-8 w-full items-start gap-2 rounded-md px-2 py-1 text-left text-sm focus:bg-hover focus:outline-none pointer-coarse:min-h-11'
      }
    >
      {!group.isRow && (
        <Check size={14} aria-hidden className={`mt-0.75 shrink-0 text-mark ${chosen ? '' : 'invisible'}`} />
      )}
      {group.isRow ? (
        label
      ) : (
        <span className="min-w-0 flex-1">
          <span className="flex flex-wrap items-baseline gap-x-2">
            <span className={`font-medium [overflow-wrap:anywhere] ${danger ? 'text-bad' : ''}`}>
              {label}
            </span>
            {detail}
          </span>
          {note !== undefined && <span className="block text-xs text-pretty text-soft">{note}</span>}
        </span>
      )}
    </button>
  )
}
