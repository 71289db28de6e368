import type { AgentModel, PermissionMode } from '@parley/protocol'
import { ChevronDown, TriangleAlert } from 'lucide-react'
import type { OptionGroup } from '../parts/choice-menu.tsx'
import { lazyPart } from '../parts/lazy-part.tsx'
import { Menu } from '../parts/menu.tsx'
import { effortName } from './model-choice.logic.ts'
import { modeNames, modeNotes } from './modes.ts'

export const choiceMenu = lazyPart(() => import('../parts/choice-menu.tsx'))

type Props = { groups: readonly OptionGroup[]; title?: string | undefined }

/** A button that shows the mode, the effort and the model, with one menu for all of them. */
export function SettingsChip({ groups, title = 'Mode, model and effort' }: Props) {
  return (
    <Menu
      label="Mode, model and effort"
      title={title}
      look="text"
      part={choiceMenu}
      list={(ChoiceMenu, menu) => <ChoiceMenu {...menu} groups={groups} />}
    >
      {groups.some(isBypass) && <TriangleAlert size={13} aria-hidden className="shrink-0 text-bad" />}
      <span className="truncate">
        {groups.map((group, index) => (
          <Chosen key={group.label} group={group} isFirst={index === 0} />
        ))}
      </span>
      <ChevronDown size={13} aria-hidden className="shrink-0" />
    </Menu>
  )
}

const isBypass = ({ label, value }: OptionGroup) => label === 'Mode' && value === 'bypass'

/** The chosen option, with the name of its group for screen readers. The default effort is not shown. */
function Chosen({ group, isFirst }: { group: OptionGroup; isFirst: boolean }) {
  const { label, value, options } = group
  const name = options.find((option) => option.value === value)?.label ?? value
  const isShown = value !== '' || label !== 'Effort'
  return (
    <span className={isShown ? '' : 'sr-only'}>
      {!isFirst && ' · '}
      <span className="sr-only">{label}: </span>
      <span className={isBypass(group) ? 'font-semibold text-bad' : ''}>{name}</span>
      {label === 'Effort' && isShown && ' effort'}
    </span>
  )
}

export function modeGroup(
  mode: PermissionMode,
  modes: readonly PermissionMode[],
  onChoose: (mode: PermissionMode) => void,
): OptionGroup {
  return {
    label: 'Mode',
    value: mode,
    options: modes.map((one) => ({
      value: one,
      label: modeNames[one],
      note: modeNotes[one],
      danger: one === 'bypass',
    })),
    onChoose: (value) => onChoose(value as PermissionMode),
  }
}

export function effortGroup(
  effort: string,
  efforts: readonly string[],
  { hasDefault, onChoose }: { readonly hasDefault: boolean; readonly onChoose: (effort: string) => void },
): OptionGroup {
  return {
    label: 'Effort',
    value: effort,
    isRow: true,
    options: [
      ...(hasDefault ? [{ value: '', label: 'Default' }] : []),
      ...efforts.map((one) => ({ value: one, label: effortName(one) })),
    ],
    onChoose,
  }
}

/** The models of a session. A model that the list lacks is shown by its id. */
export function modelGroup(
  model: string,
  models: readonly AgentModel[],
  onChoose: (model: string) => void,
): OptionGroup {
  const known = models.some(({ id }) => id === model)
  return {
    label: 'Model',
    value: model,
    options: [
      ...(known ? [] : [{ value: model, label: model || 'Default model' }]),
      ...models.map(({ id, name }) => ({ value: id, label: name })),
    ],
    onChoose,
  }
}
