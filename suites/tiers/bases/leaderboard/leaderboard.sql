SELECT NULL AS place, NULL AS player, NULL AS points, NULL AS games WHERE 0;
