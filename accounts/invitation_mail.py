"""The mail that brings an invitation."""

from __future__ import annotations

import smtplib

import structlog
from django.core.mail import send_mail
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from accounts.models import Invitation

log = structlog.get_logger(__name__)


def send(invitation: Invitation, address: str) -> bool:
    """Whether the mail server took it; the owner can copy the address in any case."""
    context = {"invitation": invitation, "address": address}
    try:
        send_mail(
            subject=_("Invitation to a team on Mitsumori"),
            message=render_to_string("accounts/invitation_mail.txt", context),
            from_email=None,
            recipient_list=[invitation.email],
        )
    except (OSError, smtplib.SMTPException) as error:
        log.warning("invitation_not_mailed", team=invitation.team_id, error=type(error).__name__)
        return False
    return True
